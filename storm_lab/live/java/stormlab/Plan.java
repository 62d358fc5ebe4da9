package stormlab;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import net.minidev.json.JSONValue;

/** The exported description of one topology: {@code plan.json} and the binary files beside it. */
final class Plan {
    /** Key of the plan's folder in the topology's configuration. */
    static final String FOLDER_KEY = "storm.lab.plan";

    private static Plan last;

    final Path folder;
    final Map<String, Object> fields;

    private Plan(Path folder, Map<String, Object> fields) {
        this.folder = folder;
        this.fields = fields;
    }

    /** Read a plan, which the executors of a worker share. */
    static synchronized Plan of(String folder) {
        Path path = Path.of(folder);
        if (last == null || !last.folder.equals(path)) {
            try {
                last = new Plan(path, map(parse(Files.readString(path.resolve("plan.json")))));
            } catch (IOException error) {
                throw new IllegalStateException("the plan in " + path + " cannot be read: " + error, error);
            }
        }
        return last;
    }

    /** Return the plan of the topology with this configuration. */
    static Plan of(Map<?, ?> conf) {
        return of((String) conf.get(FOLDER_KEY));
    }

    static Object parse(String text) {
        return JSONValue.parse(text);
    }

    static String print(Object value) {
        return JSONValue.toJSONString(value);
    }

    List<Map<String, Object>> components() {
        return list(fields.get("components"));
    }

    Map<String, Object> component(String id) {
        for (Map<String, Object> component : components()) {
            if (id.equals(component.get("id"))) {
                return component;
            }
        }
        throw new IllegalStateException("the plan has no component " + id);
    }

    String text(String field) {
        return (String) fields.get(field);
    }

    long whole(String field) {
        return whole(fields, field);
    }

    static long whole(Map<String, Object> fields, String field) {
        Object value = fields.get(field);
        return value == null ? 0 : ((Number) value).longValue();
    }

    static boolean flag(Map<String, Object> fields, String field) {
        return Boolean.TRUE.equals(fields.get(field));
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static <T> List<T> list(Object value) {
        return value == null ? List.of() : (List<T>) value;
    }
}

package carbonite;

import com.esotericsoftware.kryo.Kryo;

/**
 * Replaces the class of this name in the library carbonite, which registers Clojure's types with Kryo. Storm
 * before 1.0 calls it for every serialiser that it makes. Tuples of Java types need none of it.
 */
public final class JavaBridge {
    private JavaBridge() {}

    public static void registerPrimitives(Kryo kryo) {}

    public static void registerCollections(Kryo kryo) {}
}

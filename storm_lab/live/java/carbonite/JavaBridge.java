package carbonite;

import com.esotericsoftware.kryo.Kryo;

/**
 * Stands in for the class of this name in the library carbonite, which teaches Kryo the types of Clojure.
 * Storm before 1.0 calls it for every serialiser that it makes. Tuples of Java types need nothing of it.
 */
public final class JavaBridge {
    private JavaBridge() {}

    public static void registerPrimitives(Kryo kryo) {}

    public static void registerCollections(Kryo kryo) {}
}

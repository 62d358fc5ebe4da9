package agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.IllegalClassFormatException;
import java.lang.instrument.Instrumentation;
import java.net.InetAddress;
import java.security.ProtectionDomain;
import java.util.List;

/**
 * Makes the servers of Storm listen at one address of the machine instead of all, for which Storm has no
 * setting, and lets old versions of Storm run on new versions of Java. Used as {@code
 * -javaagent:agent.jar=ADDRESS}.
 */
public final class Agent implements ClassFileTransformer {
    /** Name endings of classes that create addresses to listen at, and of one that leaves them unresolved. */
    private static final List<String> ADDRESSES =
            List.of(
                    "/messaging/netty/Server",
                    "/thrift/transport/TNonblockingServerSocket",
                    "/thrift/transport/TServerSocket",
                    "/thrift/transport/TServerTransport$AbstractServerTransportArgs",
                    "/thrift7/transport/TNonblockingServerSocket",
                    "/thrift7/transport/TServerSocket",
                    "/zookeeper/client/ConnectStringParser");

    /** Name endings of classes that listen for a moment to check whether their port is free. */
    private static final List<String> PORT_CHECKS =
            List.of(
                    "/daemon/nimbus/Nimbus",
                    "/daemon/nimbus$validate_port_available",
                    "/daemon/supervisor/Supervisor");

    /** Name ending of the class that asks on whose behalf a call is made. */
    private static final List<String> CONTEXTS = List.of("/security/auth/ReqContext");

    static volatile InetAddress address;

    public static void premain(String argument, Instrumentation instrumentation) throws Exception {
        address = InetAddress.getByName(argument);
        instrumentation.addTransformer(new Agent());
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] code)
            throws IllegalClassFormatException {
        if (isOneOf(ADDRESSES, name)) {
            return new ClassPatch(code).replace(
                    "java/net/InetSocketAddress", "agent/LocalAddress", "createUnresolved");
        }
        if (isOneOf(PORT_CHECKS, name)) {
            return new ClassPatch(code).replace("java/net/ServerSocket", "agent/LocalServerSocket", "");
        }
        if (isOneOf(CONTEXTS, name)) {
            return new ClassPatch(code).replace("javax/security/auth/Subject", "agent/NoSubject", "getSubject");
        }
        return null;
    }

    private static boolean isOneOf(List<String> ends, String name) {
        return name != null && ends.stream().anyMatch(name::endsWith);
    }
}

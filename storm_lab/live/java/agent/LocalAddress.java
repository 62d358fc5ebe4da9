package agent;

import java.net.InetSocketAddress;

/** Replaces InetSocketAddress where Storm listens at all addresses or leaves an address unresolved. */
public final class LocalAddress extends InetSocketAddress {
    private static final long serialVersionUID = 1L;

    /** A port at the address that the agent was given. */
    public LocalAddress(int port) {
        super(Agent.address, port);
    }

    /**
     * Return a resolved address. ZooKeeper's client of Storm 1.2 would leave it unresolved and read the host's
     * name from its text, whose form has changed in newer Java (ZOOKEEPER-3779).
     */
    public static InetSocketAddress createUnresolved(String host, int port) {
        return new InetSocketAddress(host, port);
    }
}

package agent;

import java.net.InetSocketAddress;

/** Stands in for InetSocketAddress where Storm listens at all addresses, or names one that it will look up. */
public final class LocalAddress extends InetSocketAddress {
    private static final long serialVersionUID = 1L;

    /** A port at the address that the agent was given. */
    public LocalAddress(int port) {
        super(Agent.address, port);
    }

    /**
     * A looked-up address. ZooKeeper's client of Storm 1.2 makes one that is not, and reads the host's name
     * out of its text, whose form Java has changed since (ZOOKEEPER-3779).
     */
    public static InetSocketAddress createUnresolved(String host, int port) {
        return new InetSocketAddress(host, port);
    }
}

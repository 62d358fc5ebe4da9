package agent;

import java.io.IOException;
import java.net.ServerSocket;

/** Replaces ServerSocket where daemons check whether their port is free. */
public final class LocalServerSocket extends ServerSocket {
    /** A port at the address that the agent was given. */
    public LocalServerSocket(int port) throws IOException {
        super(port, 0, Agent.address);
    }
}

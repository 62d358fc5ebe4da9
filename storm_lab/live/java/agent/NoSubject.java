package agent;

import java.security.AccessControlContext;
import javax.security.auth.Subject;

/** Stands in for Subject where Storm 1.2 asks for whom a call is made, which Java 24 and newer refuse. */
public final class NoSubject {
    private NoSubject() {}

    /** Nobody: no cluster of this package has users of its own. */
    @SuppressWarnings("removal")
    public static Subject getSubject(AccessControlContext context) {
        return null;
    }
}

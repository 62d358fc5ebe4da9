package agent;

import java.security.AccessControlContext;
import javax.security.auth.Subject;

/** Replaces Subject where Storm 1.2 asks on whose behalf a call is made, which Java 24 and newer refuse. */
public final class NoSubject {
    private NoSubject() {}

    /** Return null: no cluster of this package has users of its own. */
    @SuppressWarnings("removal")
    public static Subject getSubject(AccessControlContext context) {
        return null;
    }
}

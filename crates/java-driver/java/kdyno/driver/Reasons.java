package kdyno.driver;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.protocol.Errors;

/** Why records fail, by numbers from 1 on that the worker is told before an outcome has them. */
final class Reasons {
    private static final String MAX_BLOCK = "max-block";
    private static final String DELIVERY_TIMEOUT = "delivery-timeout";

    private final Map<String, Integer> numbers = new ConcurrentHashMap<>();
    private final List<String> untold = new ArrayList<>();
    private int told;

    /** Of a record that {@code send()} refused. */
    int ofRefusal(Throwable error) {
        return number(error instanceof TimeoutException ? MAX_BLOCK : name(error));
    }

    /** Of a record that was accepted. */
    int ofOutcome(Throwable error) {
        // A broker's own time-out has the words of its error code.
        boolean isBrokers = Errors.REQUEST_TIMED_OUT.message().equals(error.getMessage());
        return number(error instanceof TimeoutException && !isBrokers ? DELIVERY_TIMEOUT : name(error));
    }

    /** Name of a broker's error; of another one the name of its class. */
    static String name(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            Errors found = Errors.forException(cause);
            if (found != Errors.UNKNOWN_SERVER_ERROR || cause instanceof UnknownServerException) {
                return found.name();
            }
        }
        return error.getClass().getSimpleName();
    }

    private int number(String name) {
        Integer number = numbers.get(name);
        return number != null ? number : newNumber(name);
    }

    private synchronized int newNumber(String name) {
        return numbers.computeIfAbsent(name, unseen -> {
            untold.add(unseen);
            return told + untold.size();
        });
    }

    /** Tells the worker of new ones. */
    synchronized void collect(Frame frames) {
        for (String name : untold) {
            told++;
            frames.begin(Frame.REASON).i16(told).string(name).end();
        }
        untold.clear();
    }
}

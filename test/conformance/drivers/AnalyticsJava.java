import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.ToNumberPolicy;
import com.segment.analytics.Analytics;
import com.segment.analytics.Callback;
import com.segment.analytics.Log;
import com.segment.analytics.messages.AliasMessage;
import com.segment.analytics.messages.GroupMessage;
import com.segment.analytics.messages.IdentifyMessage;
import com.segment.analytics.messages.Message;
import com.segment.analytics.messages.MessageBuilder;
import com.segment.analytics.messages.PageMessage;
import com.segment.analytics.messages.ScreenMessage;
import com.segment.analytics.messages.TrackMessage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Drives analytics-java: `--input` is the JSON of the task, or `@` and the file that has it. */
class AnalyticsJava {
  // Not records: the Gson that the client brings does not fill them.
  static class Task {
    String writeKey;
    String apiHost;
    List<Sequence> sequences;
    Config config;
  }

  static class Sequence {
    long delayMs;
    List<Event> events;
  }

  static class Config {
    int flushQueueSize;
  }

  static class Event {
    String type;
    String userId;
    String anonymousId;
    String previousId;
    String groupId;
    String event;
    String name;
    Map<String, Object> properties;
    Map<String, Object> traits;
  }

  static class Result {
    boolean success;
    int sentBatches;
    String error;
  }

  public static void main(String[] arguments) throws Exception {
    String text = arguments[List.of(arguments).indexOf("--input") + 1];
    // A whole number stays one.
    Gson gson = new GsonBuilder().setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE).create();
    if (text.startsWith("@")) text = Files.readString(Path.of(text.substring(1)));
    System.out.println(gson.toJson(drive(gson.fromJson(text, Task.class))));
    System.exit(0);
  }

  static Result drive(Task task) throws Exception {
    int events = task.sequences.stream().mapToInt(sequence -> sequence.events.size()).sum();
    CountDownLatch open = new CountDownLatch(events);
    AtomicInteger batches = new AtomicInteger();
    AtomicReference<String> error = new AtomicReference<>();
    Callback callback =
        new Callback() {
          public void success(Message message) {
            open.countDown();
          }

          public void failure(Message message, Throwable cause) {
            error.compareAndSet(null, String.valueOf(cause));
            open.countDown();
          }
        };
    Log log =
        new Log() {
          public void print(Level level, String format, Object... values) {
            if (format.startsWith("Uploaded batch")) batches.incrementAndGet();
          }

          public void print(Level level, Throwable cause, String format, Object... values) {}
        };
    // A batch that failed sleeps up to 30 s in its thread: with one thread, each would wait for all before it.
    Analytics client =
        Analytics.builder(task.writeKey)
            .endpoint(task.apiHost)
            .flushQueueSize(task.config.flushQueueSize)
            .flushInterval(1, TimeUnit.SECONDS)
            .networkExecutor(Executors.newFixedThreadPool(16))
            .callback(callback)
            .log(log)
            .build();
    for (Sequence sequence : task.sequences) {
      Thread.sleep(sequence.delayMs);
      for (Event event : sequence.events) client.enqueue(messageOf(event));
    }
    client.flush();
    // `shutdown` gives up what is not sent after a few seconds.
    open.await();
    client.shutdown();
    Result result = new Result();
    result.success = error.get() == null;
    result.sentBatches = batches.get();
    result.error = error.get();
    return result;
  }

  static MessageBuilder<?, ?> messageOf(Event event) {
    MessageBuilder<?, ?> builder =
        switch (event.type) {
          case "track" -> TrackMessage.builder(event.event).properties(event.properties);
          case "page" -> PageMessage.builder(event.name).properties(event.properties);
          case "screen" -> ScreenMessage.builder(event.name).properties(event.properties);
          case "identify" -> IdentifyMessage.builder().traits(event.traits);
          case "group" -> GroupMessage.builder(event.groupId).traits(event.traits);
          case "alias" -> AliasMessage.builder(event.previousId);
          default -> throw new IllegalArgumentException(event.type);
        };
    if (event.userId != null) builder.userId(event.userId);
    if (event.anonymousId != null) builder.anonymousId(event.anonymousId);
    return builder;
  }
}

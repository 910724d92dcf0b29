package millrace.judge;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;

/**
 * Answers questions about RFiles with Accumulo's own classes.
 *
 * <p>With arguments it answers one question, without it answers one a line from standard input until that ends. Words
 * are separated by tabs; an answer is one line, {@code ok} or {@code error} and what there is to say.
 *
 * <pre>
 * read FILE                    entries, deletes, sha256: all entries, by the reader that compactions use
 * scan FILE                    the same by the public API, with block caches
 * seek FILE ROWS WAY           entries, deletes, sha256 of what seeks to the rows in a file find, see {@link Seeks};
 *                              plain, with block caches (cached) or by the Bloom filter (bloom)
 * sample FILE SETTINGS         entries, deletes, sha256 of the sample
 * write FILE SEED N SETTINGS   entries, deletes, sha256 of pseudo-random entries written, see {@link Generator}
 * copy FROM TO SETTINGS        entries, deletes, sha256 of what was copied
 * codecs                       the codecs that can be written and read back here
 * </pre>
 *
 * SETTINGS are words of the form key=value, see {@link Settings}.
 */
public final class Judge {
  private Judge() {}

  public static void main(String[] args) throws Exception {
    // Whatever the libraries print must not mix with the answers.
    PrintStream answers = System.out;
    System.setOut(System.err);
    Codecs.prepare();
    if (args.length > 0) {
      answers.println(answer(Arrays.asList(args)));
      answers.flush();
      return;
    }
    var questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      answers.println(answer(Arrays.asList(line.split("\t", -1))));
      answers.flush();
    }
  }

  private static String answer(List<String> words) {
    try {
      return "ok\t" + judge(words);
    } catch (Exception | LinkageError e) {
      e.printStackTrace();
      return "error\t" + flat(e);
    }
  }

  private static String flat(Throwable e) {
    var text = new StringBuilder(String.valueOf(e));
    for (Throwable c = e.getCause(); c != null; c = c.getCause()) {
      text.append(": ").append(c);
    }
    return text.toString().replaceAll("[\\r\\n\\t]+", " ");
  }

  private static String judge(List<String> w) throws Exception {
    switch (w.get(0)) {
      case "read":
        return Reading.read(w.get(1)).toString();
      case "scan":
        return Reading.scan(w.get(1)).toString();
      case "seek":
        return Seeks.seek(w.get(1), w.get(2), w.get(3)).toString();
      case "sample":
        return Reading.sample(w.get(1), new Settings(w.subList(2, w.size()))).toString();
      case "write":
        return Writing.write(w.get(1), Long.parseLong(w.get(2)), Integer.parseInt(w.get(3)),
            new Settings(w.subList(4, w.size()))).toString();
      case "copy":
        return Writing.copy(w.get(1), w.get(2), new Settings(w.subList(3, w.size()))).toString();
      case "codecs":
        return String.join("\t", Codecs.working());
      default:
        throw new IllegalArgumentException("no such question: " + w.get(0));
    }
  }
}

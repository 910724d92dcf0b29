package millrace.judge;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;

/**
 * Pseudo-random entries in key order, the same for a seed on every machine and release: numbered, prefixed and binary
 * rows, a few families, all visibilities alike, timestamps from all of int64, one delete marker in ten, equal keys in a
 * row, and now and then a value larger than any codec's buffer.
 */
final class Generator {
  static final String[] FAMILIES = {"a", "b", "cf", "cf:long family name", "z"};
  private static final String[] LABELS = {"", "", "A", "A&B", "(A|B)&C", "secret|\"top secret\""};
  private static final int LARGE_VALUE = 300_000;

  private Generator() {}

  static final class Entry {
    final Key key;
    final Value value;

    Entry(Key key, Value value) {
      this.key = key;
      this.value = value;
    }
  }

  static List<Entry> entries(long seed, int n) {
    var rnd = new Random(seed);
    List<Entry> all = new ArrayList<>(n);
    byte[] row = row(rnd, n);
    while (all.size() < n) {
      if (rnd.nextInt(3) == 0) {
        row = row(rnd, n);
      }
      var key = new Key(row, bytes(FAMILIES[rnd.nextInt(FAMILIES.length)]),
          bytes(rnd.nextInt(4) == 0 ? "" : "q" + rnd.nextInt(50)),
          bytes(LABELS[rnd.nextInt(LABELS.length)]), timestamp(rnd), rnd.nextInt(10) == 0);
      all.add(new Entry(key, value(rnd)));
      while (all.size() < n && rnd.nextInt(50) == 0) {
        all.add(new Entry(key, value(rnd)));
      }
    }
    all.sort((a, b) -> a.key.compareTo(b.key)); // stable, so that equal keys keep their order
    return all;
  }

  private static byte[] row(Random rnd, int n) {
    switch (rnd.nextInt(4)) {
      case 0:
        byte[] binary = new byte[rnd.nextInt(24)];
        rnd.nextBytes(binary);
        return binary;
      case 1:
        return bytes("http://host/some/long/path/that/rows/share/" + rnd.nextInt(n + 1));
      default:
        return bytes(String.format(Locale.ROOT, "row_%010d", rnd.nextInt(2 * n + 1)));
    }
  }

  private static long timestamp(Random rnd) {
    switch (rnd.nextInt(8)) {
      case 0:
        return rnd.nextLong();
      case 1:
        return rnd.nextBoolean() ? Long.MAX_VALUE : Long.MIN_VALUE;
      default:
        return 1_700_000_000_000L + rnd.nextInt(100_000_000);
    }
  }

  private static Value value(Random rnd) {
    byte[] b = new byte[rnd.nextInt(2000) == 0 ? LARGE_VALUE + rnd.nextInt(1000) : rnd.nextInt(60)];
    if (rnd.nextBoolean()) {
      rnd.nextBytes(b);
    } else {
      java.util.Arrays.fill(b, (byte) ('a' + rnd.nextInt(26)));
    }
    return new Value(b, false);
  }

  private static byte[] bytes(String s) {
    return s.getBytes(StandardCharsets.UTF_8);
  }
}

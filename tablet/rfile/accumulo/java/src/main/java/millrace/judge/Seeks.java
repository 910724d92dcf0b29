package millrace.judge;

import java.nio.file.Path;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;

import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.file.FileSKVIterator;
import org.apache.hadoop.io.Text;

/**
 * Seeks by one reader, one after another, each line of a file naming a row and, after commas, the families to fetch, all
 * in hex. Of each line: all entries of the row, then the first three from the row on. The digest is over all entries
 * found, in this order.
 */
final class Seeks {
  private static final int MOST = 3;

  private Seeks() {}

  static Canonical seek(String file, String rows, String way) throws Exception {
    var canonical = new Canonical();
    try (FileSKVIterator reader = Release.open(file, way)) {
      for (String line : java.nio.file.Files.readAllLines(Path.of(rows))) {
        one(reader, line, canonical);
      }
    }
    return canonical;
  }

  private static void one(FileSKVIterator reader, String line,
      Canonical canonical) throws Exception {
    String[] words = line.split(",", -1);
    var row = new Text(HexFormat.of().parseHex(words[0]));
    Set<ByteSequence> families = new HashSet<>();
    for (int i = 1; i < words.length; i++) {
      families.add(new ArrayByteSequence(HexFormat.of().parseHex(words[i])));
    }
    take(reader, new Range(row), families, Integer.MAX_VALUE, canonical);
    take(reader, new Range(row, true, null, true), families, MOST, canonical);
  }

  private static void take(FileSKVIterator reader, Range range,
      Set<ByteSequence> families, int most, Canonical canonical) throws Exception {
    reader.seek(range, families, !families.isEmpty());
    for (int n = 0; n < most && reader.hasTop(); reader.next()) {
      // The reader chooses groups by the families and returns all that they hold. Accumulo's own filter above it is not
      // used: it passes over a delete marker at the greatest timestamp, if all behind the family is empty.
      if (families.isEmpty() || families.contains(reader.getTopKey().getColumnFamilyData())) {
        canonical.add(reader.getTopKey(), reader.getTopValue());
        n++;
      }
    }
  }
}

package millrace.judge;

import java.io.IOException;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.accumulo.core.data.ArrayByteSequence;
import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.file.FileSKVIterator;
import org.apache.accumulo.core.file.FileSKVWriter;

/** Files written by Accumulo's writer. */
final class Writing {
  private Writing() {}

  /** What a writer does with one group: an entry at a time, in key order. */
  private interface Group {
    void into(FileSKVWriter writer) throws IOException;
  }

  /** Finds the entries of a group: of the families given, or of all others. */
  private interface Source {
    Group of(Set<ByteSequence> families, boolean listed) throws IOException;
  }

  static Canonical write(String file, long seed, int entries, Settings settings) throws Exception {
    List<Generator.Entry> all = Generator.entries(seed, entries);
    file(file, settings, (families, listed) -> writer -> {
      for (Generator.Entry e : all) {
        if (families.contains(e.key.getColumnFamilyData()) == listed) {
          writer.append(e.key, e.value);
        }
      }
    });
    var canonical = new Canonical();
    for (Generator.Entry e : all) {
      canonical.add(e.key, e.value);
    }
    return canonical;
  }

  static Canonical copy(String from, String to, Settings settings) throws Exception {
    try (FileSKVIterator reader = Release.open(from, "plain")) {
      file(to, settings, (families, listed) -> writer -> {
        reader.seek(new Range(), Collections.emptySet(), false);
        for (; reader.hasTop(); reader.next()) {
          if (families.contains(reader.getTopKey().getColumnFamilyData()) == listed) {
            writer.append(reader.getTopKey(), reader.getTopValue());
          }
        }
      });
    }
    return Reading.read(from);
  }

  private static void file(String name, Settings settings, Source source) throws Exception {
    try (FileSKVWriter writer = Release.create(name, settings)) {
      Set<ByteSequence> named = new HashSet<>();
      for (Map.Entry<String,List<byte[]>> group : settings.groups().entrySet()) {
        Set<ByteSequence> families = new HashSet<>();
        group.getValue().forEach(f -> families.add(new ArrayByteSequence(f)));
        writer.startNewLocalityGroup(group.getKey(), families);
        source.of(families, true).into(writer);
        named.addAll(families);
      }
      if (settings.hasDefaultGroup()) {
        writer.startDefaultLocalityGroup();
        source.of(named, false).into(writer);
      }
    }
  }
}

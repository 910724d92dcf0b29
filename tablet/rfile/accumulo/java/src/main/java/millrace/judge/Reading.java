package millrace.judge;

import java.io.IOException;
import java.util.Collections;
import java.util.Map;

import org.apache.accumulo.core.client.Scanner;
import org.apache.accumulo.core.client.rfile.RFile;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Range;
import org.apache.accumulo.core.data.Value;
import org.apache.accumulo.core.file.FileSKVIterator;
import org.apache.accumulo.core.sample.impl.SamplerConfigurationImpl;

/** Whole files, entry by entry, delete markers and all visibilities included. */
final class Reading {
  private static final long CACHE_BYTES = 32L << 20;

  private Reading() {}

  /** The way of a compaction: block after block out of the decompressor, no cache. */
  static Canonical read(String file) throws Exception {
    try (FileSKVIterator reader = Release.open(file, "plain")) {
      return all(reader);
    }
  }

  private static Canonical all(FileSKVIterator reader) throws IOException {
    var canonical = new Canonical();
    reader.seek(new Range(), Collections.emptySet(), false);
    for (; reader.hasTop(); reader.next()) {
      canonical.add(reader.getTopKey(), reader.getTopValue());
    }
    return canonical;
  }

  /** The way of a client: whole blocks, of exactly the size that the index records, through caches. */
  static Canonical scan(String file) throws Exception {
    try (Scanner scanner = RFile.newScanner().from(file).withFileSystem(Files.system())
        .withoutSystemIterators().withIndexCache(CACHE_BYTES).withDataCache(CACHE_BYTES).build()) {
      var canonical = new Canonical();
      for (Map.Entry<Key,Value> e : scanner) {
        canonical.add(e.getKey(), e.getValue());
      }
      return canonical;
    }
  }

  static Canonical sample(String file, Settings settings) throws Exception {
    try (FileSKVIterator reader = Release.open(file, "plain")) {
      FileSKVIterator sample =
          reader.getSample(SamplerConfigurationImpl.newSamplerConfig(settings.table()));
      if (sample == null) {
        throw new IllegalArgumentException("no sample of this configuration");
      }
      return all(sample);
    }
  }
}

package millrace.judge;

import org.apache.accumulo.core.conf.AccumuloConfiguration;
import org.apache.accumulo.core.conf.ConfigurationCopy;
import org.apache.accumulo.core.file.FileOperations;
import org.apache.accumulo.core.file.FileSKVIterator;
import org.apache.accumulo.core.file.FileSKVWriter;
import org.apache.accumulo.core.file.blockfile.cache.LruBlockCache;

/** What differs between releases, for 1.10. */
final class Release {
  private static final LruBlockCache INDEX = new LruBlockCache(32L << 20, 10_000);
  private static final LruBlockCache DATA = new LruBlockCache(64L << 20, 100_000);

  private Release() {}

  static ConfigurationCopy table() {
    return new ConfigurationCopy(AccumuloConfiguration.getDefaultConfiguration());
  }

  static FileSKVIterator open(String file, String way) throws Exception {
    ConfigurationCopy table = table();
    table.set("table.cache.block.enable", "true"); // or else the cache given is not used
    if (way.equals("bloom")) {
      table.set("table.bloom.enabled", "true");
      table.set("table.bloom.load.threshold", "0"); // at once,
      table.set("tserver.bloom.load.concurrent.max", "0"); // not in the background
    }
    FileOperations.OpenReaderOperationBuilder builder =
        FileOperations.getInstance().newReaderBuilder()
            .forFile(file, Files.system(), Files.CONF).withTableConfiguration(table);
    return (way.equals("cached") ? builder.withBlockCache(DATA, INDEX) : builder).build();
  }

  static FileSKVWriter create(String file, Settings settings) throws Exception {
    return FileOperations.getInstance().newWriterBuilder()
        .forFile(file, Files.system(), Files.CONF).withTableConfiguration(settings.table()).build();
  }
}

package millrace.judge;

import org.apache.accumulo.core.conf.ConfigurationCopy;
import org.apache.accumulo.core.conf.DefaultConfiguration;
import org.apache.accumulo.core.file.FileOperations;
import org.apache.accumulo.core.file.FileSKVIterator;
import org.apache.accumulo.core.file.FileSKVWriter;
import org.apache.accumulo.core.file.blockfile.cache.impl.BlockCacheConfiguration;
import org.apache.accumulo.core.file.blockfile.cache.impl.BlockCacheManagerFactory;
import org.apache.accumulo.core.file.blockfile.impl.BasicCacheProvider;
import org.apache.accumulo.core.spi.cache.BlockCacheManager;
import org.apache.accumulo.core.spi.cache.CacheType;
import org.apache.accumulo.core.spi.crypto.NoCryptoServiceFactory;

/** What differs between releases, for 2.1. */
final class Release {
  private static final BlockCacheManager CACHES = caches();

  private Release() {}

  static ConfigurationCopy table() {
    return new ConfigurationCopy(DefaultConfiguration.getInstance());
  }

  private static BlockCacheManager caches() {
    try {
      ConfigurationCopy conf = table();
      conf.set("tserver.cache.index.size", "32M");
      conf.set("tserver.cache.data.size", "64M");
      conf.set("tserver.cache.summary.size", "1M");
      BlockCacheManager caches = BlockCacheManagerFactory.getClientInstance(conf);
      caches.start(BlockCacheConfiguration.forTabletServer(conf));
      return caches;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  static FileSKVIterator open(String file, String way) throws Exception {
    ConfigurationCopy table = table();
    if (way.equals("bloom")) {
      table.set("table.bloom.enabled", "true");
      table.set("table.bloom.load.threshold", "0"); // at once,
      table.set("tserver.bloom.load.concurrent.max", "0"); // not in the background
    }
    FileOperations.ReaderBuilder builder = FileOperations.getInstance().newReaderBuilder()
        .forFile(file, Files.system(), Files.CONF, NoCryptoServiceFactory.NONE)
        .withTableConfiguration(table);
    if (way.equals("cached")) {
      builder = builder.withCacheProvider(new BasicCacheProvider(
          CACHES.getBlockCache(CacheType.INDEX), CACHES.getBlockCache(CacheType.DATA)));
    }
    return builder.build();
  }

  static FileSKVWriter create(String file, Settings settings) throws Exception {
    return FileOperations.getInstance().newWriterBuilder()
        .forFile(file, Files.system(), Files.CONF, NoCryptoServiceFactory.NONE)
        .withTableConfiguration(settings.table()).withStartDisabled().build();
  }
}

package millrace.judge;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.util.NativeCodeLoader;

/** Which codecs there are on this machine. */
final class Codecs {
  private Codecs() {}

  /** Before any class of Accumulo's container is loaded: it looks for codecs then, once. */
  static void prepare() {
    if (!NativeCodeLoader.isNativeCodeLoaded()) {
      System.setProperty("io.compression.codec.zstd.class", ZstdCodec.class.getName());
      System.setProperty("io.compression.codec.bzip2.class", Bzip2Codec.class.getName());
    }
  }

  /** Those that a small file can be written with and read back. */
  static List<String> working() throws Exception {
    List<String> working = new ArrayList<>();
    Path dir = java.nio.file.Files.createTempDirectory("judge");
    for (String codec : new String[] {"none", "gz", "snappy", "lz4", "zstd", "bzip2"}) {
      Path file = dir.resolve(codec + ".rf");
      try {
        String written =
            Writing.write(file.toString(), 1, 2000, new Settings(List.of("codec=" + codec))).toString();
        if (written.equals(Reading.read(file.toString()).toString())) {
          working.add(codec);
        }
      } catch (Exception | LinkageError e) {
        System.err.println("codec " + codec + ": " + e);
      }
      java.nio.file.Files.deleteIfExists(file);
    }
    java.nio.file.Files.delete(dir);
    return working;
  }
}

package millrace.judge;

import java.io.IOException;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.RawLocalFileSystem;

/** The machine's files as Hadoop sees them. */
final class Files {
  static final Configuration CONF = conf();

  private Files() {}

  private static Configuration conf() {
    var conf = new Configuration();
    // Not LocalFileSystem, which writes checksum files beside each file and believes those that it finds.
    conf.setClass("fs.file.impl", RawLocalFileSystem.class, FileSystem.class);
    return conf;
  }

  static FileSystem system() throws IOException {
    return FileSystem.get(java.net.URI.create("file:///"), CONF);
  }
}

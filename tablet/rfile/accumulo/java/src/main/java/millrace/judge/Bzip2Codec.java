package millrace.judge;

import org.apache.hadoop.io.compress.BZip2Codec;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;

/**
 * Hadoop's own codec, without the placeholders that it hands out as compressors where the native library is missing:
 * they answer nothing, and Accumulo asks them.
 */
public final class Bzip2Codec extends BZip2Codec {
  @Override
  public Class<? extends Compressor> getCompressorType() {
    return null;
  }

  @Override
  public Compressor createCompressor() {
    return null;
  }

  @Override
  public Class<? extends Decompressor> getDecompressorType() {
    return null;
  }

  @Override
  public Decompressor createDecompressor() {
    return null;
  }
}

package millrace.judge;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionInputStream;
import org.apache.hadoop.io.compress.CompressionOutputStream;
import org.apache.hadoop.io.compress.Compressor;
import org.apache.hadoop.io.compress.Decompressor;

import com.github.luben.zstd.ZstdInputStream;
import com.github.luben.zstd.ZstdOutputStream;

/**
 * Stands in for Hadoop's codec of the same name, which needs Hadoop's native library. Like that one it hands the bytes
 * to the C library of zstd, as one frame, streamed, at level 3, and adds nothing of its own.
 */
public final class ZstdCodec implements CompressionCodec {
  private static final int LEVEL = 3;

  private static final class Out extends CompressionOutputStream {
    private ZstdOutputStream frame;

    Out(OutputStream out) {
      super(out);
    }

    private ZstdOutputStream frame() throws IOException {
      if (frame == null) {
        frame = new ZstdOutputStream(new FilterOutputStream(out) {
          @Override
          public void write(byte[] b, int off, int len) throws IOException {
            out.write(b, off, len);
          }

          @Override
          public void close() {} // what is below outlives the frame
        }, LEVEL);
      }
      return frame;
    }

    @Override
    public void write(int b) throws IOException {
      frame().write(b);
    }

    @Override
    public void write(byte[] b, int off, int len) throws IOException {
      frame().write(b, off, len);
    }

    @Override
    public void finish() throws IOException {
      frame().close();
    }

    @Override
    public void resetState() {
      frame = null;
    }
  }

  private static final class In extends CompressionInputStream {
    private final ZstdInputStream frames;

    In(InputStream in) throws IOException {
      super(in);
      frames = new ZstdInputStream(in);
    }

    @Override
    public int read() throws IOException {
      return frames.read();
    }

    @Override
    public int read(byte[] b, int off, int len) throws IOException {
      return frames.read(b, off, len);
    }

    @Override
    public void resetState() {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() throws IOException {
      frames.close();
    }
  }

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out) {
    return new Out(out);
  }

  @Override
  public CompressionOutputStream createOutputStream(OutputStream out, Compressor none) {
    return new Out(out);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in) throws IOException {
    return new In(in);
  }

  @Override
  public CompressionInputStream createInputStream(InputStream in, Decompressor none)
      throws IOException {
    return new In(in);
  }

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

  @Override
  public String getDefaultExtension() {
    return ".zst";
  }
}

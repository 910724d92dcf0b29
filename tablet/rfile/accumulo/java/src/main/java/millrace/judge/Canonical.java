package millrace.judge;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

import org.apache.accumulo.core.data.ByteSequence;
import org.apache.accumulo.core.data.Key;
import org.apache.accumulo.core.data.Value;

/**
 * A SHA-256 over entries in a canonical form: row, family, qualifier and visibility each with its length as 4 bytes, the
 * timestamp as 8, one byte 01 for a delete marker and else 00, the value with its length as 4 bytes. All big-endian.
 */
final class Canonical {
  private final MessageDigest sha;
  private final DataOutputStream out;
  private long entries;
  private long deletes;

  Canonical() {
    try {
      sha = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
    out = new DataOutputStream(new BufferedOutputStream(
        new DigestOutputStream(OutputStream.nullOutputStream(), sha), 1 << 16));
  }

  void add(Key k, Value v) throws IOException {
    sized(k.getRowData());
    sized(k.getColumnFamilyData());
    sized(k.getColumnQualifierData());
    sized(k.getColumnVisibilityData());
    out.writeLong(k.getTimestamp());
    out.writeBoolean(k.isDeleted());
    byte[] value = v.get();
    out.writeInt(value.length);
    out.write(value);
    entries++;
    if (k.isDeleted()) {
      deletes++;
    }
  }

  private void sized(ByteSequence b) throws IOException {
    out.writeInt(b.length());
    out.write(b.getBackingArray(), b.offset(), b.length());
  }

  /** Entries, delete markers among them and the digest; ends the digest. */
  @Override
  public String toString() {
    try {
      out.flush();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
    return entries + "\t" + deletes + "\t" + HexFormat.of().formatHex(sha.digest());
  }
}

package millrace.judge;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.apache.accumulo.core.client.sample.RowSampler;
import org.apache.accumulo.core.conf.ConfigurationCopy;
import org.apache.accumulo.core.file.keyfunctor.RowFunctor;

/**
 * How to write a file.
 *
 * <pre>
 * codec=gz  block=102400  index=131072
 * bloom=FUNCTOR,HASH,KEYS                 classes without their package
 * sample=CLASS,OPTION:VALUE,OPTION:VALUE
 * groups=NAME:FAMILY,FAMILY;NAME:FAMILY   names and families in hex, in file order
 * default=false                           no default group at the end
 * </pre>
 */
final class Settings {
  private final Map<String,String> words = new HashMap<>();

  Settings(List<String> list) {
    for (String word : list) {
      int at = word.indexOf('=');
      words.put(word.substring(0, at), word.substring(at + 1));
    }
  }

  String codec() {
    return words.getOrDefault("codec", "gz");
  }

  boolean hasDefaultGroup() {
    return !"false".equals(words.get("default"));
  }

  /** The named groups and their families, in file order. */
  Map<String,List<byte[]>> groups() {
    Map<String,List<byte[]>> groups = new LinkedHashMap<>();
    String text = words.getOrDefault("groups", "");
    for (String group : text.isEmpty() ? new String[0] : text.split(";")) {
      int at = group.indexOf(':');
      List<byte[]> families = new ArrayList<>();
      for (String family : group.substring(at + 1).split(",", -1)) {
        families.add(HexFormat.of().parseHex(family));
      }
      groups.put(new String(HexFormat.of().parseHex(group.substring(0, at)),
          java.nio.charset.StandardCharsets.UTF_8), families);
    }
    return groups;
  }

  /** The same as properties of a table. */
  ConfigurationCopy table() {
    ConfigurationCopy table = Release.table();
    // Compression is set here too: one release takes it from the builder, the other from the table.
    table.set("table.file.compress.type", codec());
    set(table, "block", "table.file.compress.blocksize");
    set(table, "index", "table.file.compress.blocksize.index");
    if (words.containsKey("bloom")) {
      String[] bloom = words.get("bloom").split(",");
      table.set("table.bloom.enabled", "true");
      table.set("table.bloom.key.functor", RowFunctor.class.getPackageName() + "." + bloom[0]);
      table.set("table.bloom.hash.type", bloom[1]);
      table.set("table.bloom.size", bloom[2]);
    }
    if (words.containsKey("sample")) {
      String[] sample = words.get("sample").split(",");
      table.set("table.sampler", RowSampler.class.getPackageName() + "." + sample[0]);
      for (int k = 1; k < sample.length; k++) {
        int at = sample[k].indexOf(':');
        table.set("table.sampler.opt." + sample[k].substring(0, at), sample[k].substring(at + 1));
      }
    }
    return table;
  }

  private void set(ConfigurationCopy table, String word, String property) {
    if (words.containsKey(word)) {
      table.set(property, words.get(word));
    }
  }
}

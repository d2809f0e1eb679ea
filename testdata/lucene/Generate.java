// Writes the Lucene reference figures of this folder. See README.md for how to run it.
// Parts: tokens IN | fuzz | cjk | codepoints | lowercase | stem CLASS VOC EXPECTED | stream NAME FILE FIELDS OUTDIR | search DIR DROP_OWN KEEP [MODEL]
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.*;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.security.MessageDigest;
import java.util.*;
import java.util.stream.*;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.cjk.*;
import org.apache.lucene.analysis.core.KeywordTokenizer;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.*;
import org.apache.lucene.document.*;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.*;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.*;

public class Generate {
  static final ObjectMapper JSON = JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
  static final PrintStream OUT = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
  record Token(String text, int start, int end) {}

  static List<Token> drain(TokenStream s) throws IOException {
    CharTermAttribute term = s.addAttribute(CharTermAttribute.class);
    OffsetAttribute offset = s.addAttribute(OffsetAttribute.class);
    List<Token> out = new ArrayList<>();
    s.reset();
    while (s.incrementToken()) out.add(new Token(term.toString(), offset.startOffset(), offset.endOffset()));
    s.end();
    s.close();
    return out;
  }
  static final StandardTokenizer STANDARD = new StandardTokenizer();
  static List<Token> standard(String s) throws IOException { STANDARD.setReader(new StringReader(s)); return drain(STANDARD); }
  static Analyzer chain;   // Anserini's own default, not a rebuilt one
  static List<String> chain(String s) throws IOException {
    return drain(chain.tokenStream("contents", s)).stream().map(Token::text).toList();
  }
  static List<String> lines(Path p) throws Exception {
    InputStream in = Files.newInputStream(p);
    if (p.toString().endsWith(".zst")) in = new com.github.luben.zstd.ZstdInputStream(in);
    String all = new String(in.readAllBytes(), StandardCharsets.UTF_8);
    return List.of((all.endsWith("\n") ? all.substring(0, all.length() - 1) : all).split("\n", -1));
  }
  static void row(String s) throws IOException {
    List<Object> t = new ArrayList<>();
    for (Token x : standard(s)) t.add(List.of(x.text, x.start, x.end));
    OUT.println(JSON.writeValueAsString(s) + "\t" + JSON.writeValueAsString(t) + "\t" + JSON.writeValueAsString(chain(s)));
  }

  // CJKAnalyzer, and the same chain with unigrams.
  static final Analyzer BIGRAMS = new CJKAnalyzer();
  static final Analyzer BIGRAMS_AND_UNIGRAMS = new Analyzer() {
    @Override protected TokenStreamComponents createComponents(String field) {
      Tokenizer source = new StandardTokenizer();
      int all = CJKBigramFilter.HAN | CJKBigramFilter.HIRAGANA | CJKBigramFilter.KATAKANA | CJKBigramFilter.HANGUL;
      TokenStream bigrams = new CJKBigramFilter(new LowerCaseFilter(new CJKWidthFilter(source)), all, true);
      return new TokenStreamComponents(source, new StopFilter(bigrams, CJKAnalyzer.getDefaultStopSet()));
    }
  };
  static List<Object> positioned(Analyzer analyzer, String text) throws IOException {
    TokenStream s = analyzer.tokenStream("contents", text);
    CharTermAttribute term = s.addAttribute(CharTermAttribute.class);
    OffsetAttribute offset = s.addAttribute(OffsetAttribute.class);
    PositionIncrementAttribute increment = s.addAttribute(PositionIncrementAttribute.class);
    List<Object> out = new ArrayList<>();
    int position = -1;
    s.reset();
    while (s.incrementToken()) {
      position += increment.getPositionIncrement();
      out.add(List.of(term.toString(), offset.startOffset(), offset.endOffset(), position));
    }
    s.end();
    s.close();
    return out;
  }
  static void cjkRow(String s) throws IOException {
    OUT.println(JSON.writeValueAsString(s) + "\t" + JSON.writeValueAsString(positioned(BIGRAMS, s)) + "\t" + JSON.writeValueAsString(positioned(BIGRAMS_AND_UNIGRAMS, s)));
  }
  static final String[] CJK_STRINGS = {"\u591A\u304F\u306E\u5B66\u751F\u304C\u8A66\u9A13\u306B\u843D\u3061\u305F\u3002",
    "\u3042\u3044\u3046\u3048\u304Aabc\u304B\u304D\u304F\u3051\u3053", "\u3042\u3044\u3046\u3048\u304Aab\u3093c\u304B\u304D\u304F\u3051 \u3053",
    "\u4E00", "\u4E00 \u4E8C", "\u4E00\u4E8C \u4E09", "\uD55C\uAD6D\uC5B4 \uBB38\uC11C", "\uD55C\uAD6Dabc \uD55C\uAD6D", "\u30AB\u30BF\u30AB\u30CA",
    "\uFF76\uFF80\uFF76\uFF85 \uFF8A\uFF9F\uFF85\uFF7F\uFF86\uFF6F\uFF78", "\uFF34\uFF45\uFF53\uFF54 \uFF11\uFF12\uFF13\uFF14",
    "\u65E5\u672C\u8A9E\u30C6\u30AD\u30B9\u30C82020\u5E74", "the \u65E5\u672C of \u8A9E", "\uD840\uDC00\uD840\uDC01\u4E00",
    "\u30B3\u30FC\u30D2\u30FC\u30FB\u30DF\u30EB\u30AF", "\u304B\u3099\u304B", "\u4E2D\u65872020\u5E74",
    "\u6211\u8D2D\u4E70\u4E86\u9053\u5177\u548C\u670D\u88C5\u3002", "\u8271\u935F\u41F9\u612F\u701B", "", "\uFF9E\uFF71", "\u30AB_\u30AB",
    "\u6F22\u200d\u5B57", "\u3042\u0301\u3044"};
  static final String[] CJK_ALPHABET = {"\u65E5", "\u672C", "\u8A9E", "\u6F22", "\uD840\uDC00", "\u3007", "\u3042", "\u306E", "\u304C",
    "\u304B\u3099", "\u30AB", "\u30CA", "\u30FC", "\uFF76", "\uFF9E", "\uFF8A", "\uFF9F", "\u30F4", "\uFF73", "\u30FB", "\uD55C", "\uAD6D",
    "\u1112\u1161", "\u3131", "\u1100", "a", "B", "the", "s", "1", "\uFF11", "\uFF21", "\uFF5A", "_", " ", " ", "\u3002", "\u3001", ".", "'",
    "\u0301", "\u200d", "\ufe0f", "\u00E9", "\u05D0", "\u0E44", "\uD83D\uDE00", "\u301C", "\u3005", "\u3006", "\u309D", "\u30FD", "\u32D0", "\u3300",
    "\u31F0", "\uFFA1", "\uFF70", "\u3031", "\u309B", "\u8C48"};
  static void cjk() throws IOException {
    for (String s : CJK_STRINGS) cjkRow(s);
    Random r = new Random(20261128);
    for (int i = 0; i < 2000; i++) {
      StringBuilder s = new StringBuilder();
      int n = 1 + r.nextInt(12), letters = i % 2 == 0 ? CJK_ALPHABET.length : 28;
      for (int k = 0; k < n; k++) s.append(CJK_ALPHABET[r.nextInt(letters)]);
      cjkRow(s.toString());
    }
    // Runs around the maximum token length and the buffer of the filter.
    for (int n : new int[] {63, 64, 65, 66, 254, 255, 256, 257}) for (String c : List.of("\u30AB", "\u65E5", "\uD55C")) cjkRow(c.repeat(n));
  }

  // One or more members of every word-break class, a few ordinary letters, and separators.
  static final String[] ALPHABET = {"a", "B", "s", "'", "\u2019", "\uFF07", ".", ",", ":", ";", "_", "-", " ", "\n", "\r", "1", "9",
    "\u0660", "\u00E9", "\u0301", "\u00AD", "\u200B", "\u200C", "\u200D", "\u200E", "\uFEFF", "\uFE0F", "\uFE0E", "\u20E3", "\u05D0", "\"",
    "\u05F4", "\u05F3", "\u30AB", "\u30FC", "\uFF76", "\u3042", "\u6F22", "\uD840\uDC00", "\uD55C", "\u1100", "\u1161", "\u11A8", "\u0E02", "\u0E31",
    "\u0E81", "\u1780", "\u1000", "\u0915", "\u093F", "\u094D", "\u0628", "\u00B7", "\u0387", "\u2024", "\u2027", "\uFE52", "\uFE55", "\u066B", "\u066C",
    "\u060C", "\u203F", "\uFF3F", "\u202F", "\u00A0", "\u3000", "#", "*", "\u00A9", "\u2764", "\uD83D\uDE00", "\uD83D\uDC68", "\uD83C\uDFFD", "\uD83C\uDDFA",
    "\uD83C\uDDF8", "\uD83C\uDFF4", "\uDB40\uDC67", "\uDB40\uDC7F", "\u216B", "\u00B2", "\u00BD", "\u0130", "\u00DF", "\u1E9E", "\u03A3", "\uD835\uDC00", "\uD835\uDFCE",
    "\uFF21", "\uFF11", "\u02D7", "\u055F", "\u16A0", "\u00AA", "the", "ing", "\u2028", "\uE000", "\uFFFD"};
  static void fuzz() throws IOException {
    Random r = new Random(20240601);
    for (int i = 0; i < 8000; i++) {
      StringBuilder s = new StringBuilder();
      if (i >= 6500) {    // around the 255-unit limit: a long run of one kind, then the rest
        String unit = ALPHABET[new int[] {0, 0, 15, 19, 33, 39, 43, 73, 85, 10, 28, 70}[r.nextInt(12)]];
        int lead = r.nextInt(3);
        for (int k = 0; k < lead; k++) s.append(ALPHABET[r.nextInt(ALPHABET.length)]);
        int want = 245 + r.nextInt(20) + (r.nextInt(4) == 0 ? 255 : 0);
        if (unit.equals("\u0301") || unit.equals("\u20E3")) s.append('e');
        while (s.length() < want) s.append(unit);
      }
      int n = 1 + r.nextInt(i % 2 == 0 ? 6 : 24);
      for (int k = 0; k < n; k++) s.append(ALPHABET[r.nextInt(ALPHABET.length)]);
      row(s.toString());
    }
  }

  static final String[] TEMPLATES = {"{}", "{}{}", "a{}b", "1{}2", "1{}a", "\u05D0{}\u05D0", "\u30AB{}\u30AB", "\uD55C{}\uD55C", "\u0E02{}\u0E02", "\u6F22{}\u3042",
    "_{}_", "{}\u0301", "{}\u200D\uD83D\uDC67", "\uD83D\uDC67\u200D{}", "{}\uFE0F", "{}\uD83C\uDFFD", "{}\u20E3", "\uD83C\uDDFA{}", "{}.a", "{}'1"};
  static void codepoints() throws IOException {
    OUT.println("# templates: " + JSON.writeValueAsString(TEMPLATES));
    String last = null; int first = 0, prev = 0;
    for (int c = 0; c <= 0x110000; c++) {
      if (c >= 0xD800 && c < 0xE000) continue;
      String now = null;
      if (c < 0x110000) {
        StringJoiner cols = new StringJoiner("\t");
        for (String t : TEMPLATES) {
          String s = t.replace("{}", Character.toString(c));
          cols.add(standard(s).stream().map(x -> s.codePointCount(0, x.start) + "-" + s.codePointCount(0, x.end)).collect(Collectors.joining(" ")));
        }
        now = cols.toString();
      }
      if (!Objects.equals(now, last)) {
        if (last != null) OUT.printf("%04X\t%04X\t%s%n", first, prev, last);
        first = c; last = now;
      }
      prev = c;
    }
  }

  static void stem(String name, String voc, String expected) throws Exception {
    List<String> words = lines(Path.of(voc)), wanted = lines(Path.of(expected));
    int differ = 0;
    Tokenizer t = new KeywordTokenizer();
    TokenStream s = name.equals("porter") ? new PorterStemFilter(t) : new SnowballFilter(t, new org.tartarus.snowball.ext.EnglishStemmer());
    for (int i = 0; i < words.size(); i++) {
      t.setReader(new StringReader(words.get(i)));
      String got = drain(s).get(0).text;
      if (!got.equals(wanted.get(i))) { differ++; OUT.println(words.get(i) + "\t" + wanted.get(i) + "\t" + got); }
    }
    OUT.printf("# %s: %d words, %d differ%n", name, words.size(), differ);
  }

  static String text(JsonNode d, String fields) {
    return Arrays.stream(fields.split(",")).map(f -> d.get(f).asText()).collect(Collectors.joining("\n"));
  }
  static void stream(String name, String file, String fields, String outDir) throws Exception {
    for (String kind : List.of("standard", "chain")) {
      Path to = Path.of(outDir, name + "." + kind + ".txt");
      long units = 0, filled = 0, tokens = 0; Set<String> terms = new HashSet<>();
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      try (OutputStream o = new BufferedOutputStream(Files.newOutputStream(to))) {
        for (String l : lines(Path.of(file))) {
          String s = text(JSON.readTree(l), fields);
          List<String> ts = kind.equals("chain") ? chain(s) : standard(s).stream().map(Token::text).toList();
          units++; tokens += ts.size(); if (!ts.isEmpty()) filled++; terms.addAll(ts);
          byte[] b = (String.join(" ", ts) + "\n").getBytes(StandardCharsets.UTF_8);
          sha.update(b); o.write(b);
        }
      }
      OUT.printf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s%n", name, fields, kind, units, filled, tokens, terms.size(), (float) (tokens / (double) filled), HexFormat.of().formatHex(sha.digest()));
    }
  }

  static void search(String dir, boolean dropOwn, int keep, String model) throws Exception {
    Similarity similarity = switch (model) {
      case "bm25" -> new BM25Similarity(0.9f, 0.4f);
      case "qld" -> new LMDirichletSimilarity(1000f);
      case "qljm" -> new LMJelinekMercerSimilarity(0.1f);
      case "classic" -> new ClassicSimilarity();
      default -> throw new IllegalArgumentException(model);
    };
    ByteBuffersDirectory store = new ByteBuffersDirectory();
    try (IndexWriter w = new IndexWriter(store, new IndexWriterConfig(chain).setSimilarity(similarity))) {
      for (String l : lines(Path.of(dir, "corpus.jsonl.zst"))) {
        JsonNode n = JSON.readTree(l); Document d = new Document();
        d.add(new StringField("id", n.get("_id").asText(), Field.Store.YES));
        d.add(new BinaryDocValuesField("id", new BytesRef(n.get("_id").asText())));
        d.add(new TextField("contents", text(n, "title,text"), Field.Store.NO));
        w.addDocument(d);
      }
      w.forceMerge(1);
    }
    IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(store));
    searcher.setSimilarity(similarity);
    Sort sort = new Sort(SortField.FIELD_SCORE, new SortField("id", SortField.Type.STRING_VAL));
    Path q = Path.of(dir, "queries.jsonl.zst");
    Map<String, String> queries = new HashMap<>();
    for (String l : lines(Files.exists(q) ? q : Path.of(dir, "queries.jsonl"))) { JsonNode n = JSON.readTree(l); queries.put(n.get("_id").asText(), n.get("text").asText()); }
    Set<String> ids = new LinkedHashSet<>();
    lines(Path.of(dir, "qrels", "test.tsv")).stream().skip(1).forEach(l -> ids.add(l.split("\t")[0]));
    int hit = 0;
    for (String id : ids) {
      Map<String, Integer> bag = new LinkedHashMap<>();
      for (String t : chain(queries.get(id))) bag.merge(t, 1, Integer::sum);
      BooleanQuery.Builder b = new BooleanQuery.Builder();
      bag.forEach((t, n) -> b.add(new BoostQuery(new TermQuery(new Term("contents", t)), n.floatValue()), BooleanClause.Occur.SHOULD));
      int rank = 0;
      for (ScoreDoc sd : searcher.search(b.build(), 1000, sort, true).scoreDocs) {
        String doc = searcher.storedFields().document(sd.doc).get("id");
        if (dropOwn && doc.equals(id)) continue;
        if (++rank > keep) break;
        OUT.println(id + "\t" + rank + "\t" + doc + "\t" + Float.toString(sd.score));
      }
      if (rank > 0) hit++;
    }
    OUT.printf("# %d queries, %d with at least one hit%n", ids.size(), hit);
  }

  public static void main(String[] a) throws Exception {
    chain = (Analyzer) Class.forName("io.anserini.analysis.DefaultEnglishAnalyzer").getMethod("newDefaultInstance").invoke(null);
    switch (a[0]) {
      case "tokens" -> { for (String l : lines(Path.of(a[1]))) if (!l.startsWith("#")) row(JSON.readValue(l.split("\t")[0], String.class)); }
      case "fuzz" -> fuzz();
      case "cjk" -> cjk();
      case "codepoints" -> codepoints();
      case "lowercase" -> { for (int c = 0; c <= 0x10FFFF; c++) if (Character.toLowerCase(c) != c) OUT.printf("%04X\t%04X%n", c, Character.toLowerCase(c)); }
      case "stem" -> stem(a[1], a[2], a[3]);
      case "stream" -> stream(a[1], a[2], a[3], a[4]);
      case "search" -> search(a[1], Boolean.parseBoolean(a[2]), Integer.parseInt(a[3]), a.length > 4 ? a[4] : "bm25");
      default -> throw new IllegalArgumentException(a[0]);
    }
    OUT.flush();
  }
}

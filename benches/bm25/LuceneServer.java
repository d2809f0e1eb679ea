// Lucene as a process that answers commands: `java -cp anserini-fatjar.jar LuceneServer.java FOLDER
// words|phrases|fields`. See lucene.rs for the files and commands.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.sandbox.search.CombinedFieldQuery;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.AfterEffectB;
import org.apache.lucene.search.similarities.AfterEffectL;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.search.similarities.BasicModelIn;
import org.apache.lucene.search.similarities.BasicModelIne;
import org.apache.lucene.search.similarities.ClassicSimilarity;
import org.apache.lucene.search.similarities.DFRSimilarity;
import org.apache.lucene.search.similarities.LMDirichletSimilarity;
import org.apache.lucene.search.similarities.LMJelinekMercerSimilarity;
import org.apache.lucene.search.similarities.NormalizationH2;
import org.apache.lucene.search.similarities.Similarity;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.Version;

public class LuceneServer {
  static final String FIELD = "contents";
  static final String TITLE = "title";

  record Topic(String kind, Query query) {}

  public static void main(String[] args) throws Exception {
    Path folder = Path.of(args[0]);
    boolean phrases = args[1].equals("phrases");
    boolean fields = args[1].equals("fields");
    var system =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long start = system.getProcessCpuTime();
    Path index = folder.resolve("lucene");
    build(folder.resolve("documents.txt"), index, phrases, fields);
    double seconds = (system.getProcessCpuTime() - start) / 1e9;
    long bytes = 0;
    try (var files = Files.list(index)) {
      for (Path file : (Iterable<Path>) files::iterator) bytes += Files.size(file);
    }
    IndexSearcher.setMaxClauseCount(1 << 16);
    List<Topic> topics = new ArrayList<>();
    for (String line : Files.readAllLines(folder.resolve("queries.txt"))) {
      String[] parts = line.split("\t", -1);
      topics.add(new Topic(parts[0], phrases ? phrase(parts[1], slop(parts[0])) : bag(parts[1], fields)));
    }
    IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(new MMapDirectory(index)));
    searcher.setQueryCache(null);
    System.out.println(
        "{\"name\":\"Lucene " + Version.LATEST + "\",\"index_seconds\":" + seconds
            + ",\"index_bytes\":" + bytes + "}");

    var threads = ManagementFactory.getThreadMXBean();
    var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String[] command = line.split("\t");
      searcher.setSimilarity(similarity(command[1]));
      StringBuilder out = new StringBuilder();
      for (Topic topic : topics) {
        if (command[0].equals("top")) {
          StringBuilder hits = new StringBuilder();
          for (ScoreDoc hit : top(searcher, topic.query, 10).scoreDocs) {
            hits.append(hits.isEmpty() ? "" : ",");
            hits.append("[" + hit.doc + "," + hit.score + "]");
          }
          out.append(out.isEmpty() ? "" : ",").append("[" + hits + "]");
        } else if (topic.kind.equals(command[2])) {
          long began = threads.getCurrentThreadCpuTime();
          top(searcher, topic.query, Integer.parseInt(command[3]));
          double milliseconds = (threads.getCurrentThreadCpuTime() - began) / 1e6;
          out.append(out.isEmpty() ? "" : ",").append(milliseconds);
        }
      }
      System.out.println("[" + out + "]");
    }
  }

  /** Counts no more than k hits: `search(query, k)` counts 1,000 before it skips any. */
  static TopDocs top(IndexSearcher searcher, Query query, int k) throws Exception {
    return searcher.search(query, TopScoreDocCollector.createSharedManager(k, null, k));
  }

  static Similarity similarity(String name) {
    return switch (name) {
      case "bm25", "bm25f" -> new BM25Similarity(0.9f, 0.4f);
      case "bm25-lucene" -> new BM25Similarity(1.2f, 0.75f);
      case "qld" -> new LMDirichletSimilarity(1000);
      case "qljm" -> new LMJelinekMercerSimilarity(0.1f);
      case "tfidf" -> new ClassicSimilarity();
      case "inl2" ->
          new DFRSimilarity(new BasicModelIn(), new AfterEffectL(), new NormalizationH2());
      case "in_expb2" ->
          new DFRSimilarity(new BasicModelIne(), new AfterEffectB(), new NormalizationH2());
      default -> throw new IllegalArgumentException("expected a model, found " + name);
    };
  }

  static void build(Path documents, Path index, boolean positions, boolean fields)
      throws Exception {
    // Of all similarities, the norm is the length of the field.
    IndexWriterConfig config =
        new IndexWriterConfig(new WhitespaceAnalyzer())
            .setRAMBufferSizeMB(256)
            .setMergeScheduler(new SerialMergeScheduler());
    FieldType type = new FieldType();
    type.setIndexOptions(
        positions ? IndexOptions.DOCS_AND_FREQS_AND_POSITIONS : IndexOptions.DOCS_AND_FREQS);
    type.setTokenized(true);
    type.freeze();
    Spaced terms = new Spaced();
    Spaced title = new Spaced();
    try (IndexWriter writer = new IndexWriter(new MMapDirectory(index), config);
        BufferedReader reader = Files.newBufferedReader(documents)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        Document document = new Document();
        int tab = fields ? line.indexOf('\t') : -1;
        if (fields) {
          title.line = line.substring(0, tab);
          document.add(new Field(TITLE, title, type));
        }
        terms.line = line.substring(tab + 1);
        document.add(new Field(FIELD, terms, type));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }

  /** Terms separated by as many spaces as positions. */
  static final class Spaced extends TokenStream {
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final PositionIncrementAttribute increment =
        addAttribute(PositionIncrementAttribute.class);
    String line = "";
    private int at = 0;

    @Override
    public void reset() {
      at = 0;
    }

    @Override
    public boolean incrementToken() {
      clearAttributes();
      int start = at;
      while (start < line.length() && line.charAt(start) == ' ') start++;
      if (start >= line.length()) return false;
      int end = line.indexOf(' ', start);
      if (end < 0) end = line.length();
      term.append(line, start, end);
      increment.setPositionIncrement(at == 0 ? start + 1 : start - at);
      at = end;
      return true;
    }
  }

  static Query bag(String line, boolean fields) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (String term : line.split(" +")) {
      if (!term.isEmpty()) counts.merge(term, 1, Integer::sum);
    }
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (var entry : counts.entrySet()) {
      Query term = new TermQuery(new Term(FIELD, entry.getKey()));
      if (fields) {
        term =
            new CombinedFieldQuery.Builder()
                .addField(TITLE, 2)
                .addField(FIELD, 1)
                .addTerm(new BytesRef(entry.getKey()))
                .build();
      }
      if (entry.getValue() > 1) term = new BoostQuery(term, entry.getValue());
      query.add(term, BooleanClause.Occur.SHOULD);
    }
    return query.build();
  }

  /** The number after the tilde of a kind; 0 without one. */
  static int slop(String kind) {
    int tilde = kind.indexOf('~');
    return tilde < 0 ? 0 : Integer.parseInt(kind.substring(tilde + 1));
  }

  static Query phrase(String line, int slop) {
    PhraseQuery.Builder query = new PhraseQuery.Builder().setSlop(slop);
    int position = -1;
    // Between two spaces is a position without a term.
    for (String term : line.split(" ", -1)) {
      position++;
      if (!term.isEmpty()) query.add(new Term(FIELD, term), position);
    }
    return query.build();
  }
}

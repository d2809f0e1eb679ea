// Lucene on the documents and queries of a folder: `java -cp anserini-fatjar.jar Peer.java STEP FOLDER`.
// The step is `build`, `rank` or `time`. Prints JSON. See engines.rs for the files.

import java.io.BufferedReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.Version;

public class Peer {
  static final BM25Similarity BM25 = new BM25Similarity(1.2f, 0.75f);
  static final String FIELD = "contents";
  static final int[] KS = {10, 1000};

  record Topic(String kind, Query query) {}

  public static void main(String[] args) throws Exception {
    String step = args[0];
    Path folder = Path.of(args[1]);
    Path index = folder.resolve("lucene");
    if (step.equals("build")) {
      printCost(folder, index);
      return;
    }
    IndexSearcher.setMaxClauseCount(1 << 16);
    List<Topic> topics = new ArrayList<>();
    for (String line : Files.readAllLines(folder.resolve("queries.txt"))) {
      String[] parts = line.split("\t", -1);
      topics.add(new Topic(parts[0], query(parts[1])));
    }
    IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(new MMapDirectory(index)));
    searcher.setSimilarity(BM25);
    searcher.setQueryCache(null);
    System.out.println(step.equals("rank") ? rank(searcher, topics) : times(searcher, topics));
  }

  static void printCost(Path folder, Path index) throws Exception {
    var system =
        (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long start = system.getProcessCpuTime();
    build(folder.resolve("documents.txt"), index);
    double seconds = (system.getProcessCpuTime() - start) / 1e9;
    long bytes = 0;
    try (var files = Files.list(index)) {
      for (Path file : (Iterable<Path>) files::iterator) bytes += Files.size(file);
    }
    System.out.printf(
        Locale.ROOT,
        "{\"name\":\"Lucene %s\",\"seconds\":%f,\"bytes\":%d,\"peak\":%d}%n",
        Version.LATEST, seconds, bytes, peak());
  }

  /** The hits of all topics for every k. */
  static String rank(IndexSearcher searcher, List<Topic> topics) throws Exception {
    StringBuilder all = new StringBuilder();
    for (int k : KS) {
      StringBuilder top = new StringBuilder();
      for (Topic topic : topics) {
        StringBuilder hits = new StringBuilder();
        for (ScoreDoc hit : top(searcher, topic.query, k).scoreDocs) {
          hits.append(hits.isEmpty() ? "" : ",");
          hits.append("[" + hit.doc + "," + hit.score + "]");
        }
        top.append(top.isEmpty() ? "" : ",").append("[" + hits + "]");
      }
      all.append(all.isEmpty() ? "" : ",").append("[" + top + "]");
    }
    return "[" + all + "]";
  }

  static String times(IndexSearcher searcher, List<Topic> topics) throws Exception {
    StringBuilder latencies = new StringBuilder();
    for (String kind : topics.stream().map(Topic::kind).distinct().toList()) {
      List<Topic> some = topics.stream().filter(topic -> topic.kind.equals(kind)).toList();
      for (int k : KS) {
        latencies.append(latencies.isEmpty() ? "" : ",");
        latencies.append(time(searcher, some, kind, k));
      }
    }
    return "{\"latencies\":[" + latencies + "],\"peak\":" + peak() + "}";
  }

  static void build(Path documents, Path index) throws Exception {
    IndexWriterConfig config =
        new IndexWriterConfig(new WhitespaceAnalyzer())
            .setSimilarity(BM25)
            .setRAMBufferSizeMB(256)
            .setMergeScheduler(new SerialMergeScheduler());
    FieldType type = new FieldType();
    type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
    type.setTokenized(true);
    type.freeze();
    try (IndexWriter writer = new IndexWriter(new MMapDirectory(index), config);
        BufferedReader reader = Files.newBufferedReader(documents)) {
      int number = 0;
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        Document document = new Document();
        document.add(new StringField("id", Long.toString(10_000_000_000L + number++).substring(1), Field.Store.YES));
        document.add(new Field(FIELD, line, type));
        writer.addDocument(document);
      }
      writer.forceMerge(1);
    }
  }

  /** Disjunction of the distinct terms, boosted by their count. */
  static Query query(String terms) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    for (String term : terms.split(" ")) if (!term.isEmpty()) counts.merge(term, 1, Integer::sum);
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (var entry : counts.entrySet()) {
      Query term = new TermQuery(new Term(FIELD, entry.getKey()));
      if (entry.getValue() > 1) term = new BoostQuery(term, entry.getValue());
      query.add(term, BooleanClause.Occur.SHOULD);
    }
    return query.build();
  }

  /** Counts no more than k hits: `search(query, k)` counts 1,000 before it skips any. */
  static TopDocs top(IndexSearcher searcher, Query query, int k) throws Exception {
    return searcher.search(query, TopScoreDocCollector.createSharedManager(k, null, k));
  }

  /** CPU time, best of three passes per query, after two seconds of passes for the compiler. */
  static String time(IndexSearcher searcher, List<Topic> topics, String kind, int k)
      throws Exception {
    var threads = ManagementFactory.getThreadMXBean();
    double[] best = new double[topics.size()];
    Arrays.fill(best, Double.POSITIVE_INFINITY);
    long warm = threads.getCurrentThreadCpuTime() + 2_000_000_000L;
    for (int pass = -1; pass < 3; pass++) {
      if (pass == 0 && threads.getCurrentThreadCpuTime() < warm) pass--;
      for (int at = 0; at < best.length; at++) {
        long start = threads.getCurrentThreadCpuTime();
        top(searcher, topics.get(at).query, k);
        double milliseconds = (threads.getCurrentThreadCpuTime() - start) / 1e6;
        if (pass >= 0) best[at] = Math.min(best[at], milliseconds);
      }
    }
    Arrays.sort(best);
    double mean = Arrays.stream(best).average().orElse(Double.NaN);
    return String.format(
        Locale.ROOT,
        "{\"kind\":\"%s\",\"k\":%d,\"queries\":%d,\"mean_ms\":%f,\"p99_ms\":%f}",
        kind, k, best.length, mean, best[best.length * 99 / 100]);
  }

  /** Peak resident memory in bytes. */
  static long peak() throws Exception {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
    }
    return 0;
  }
}

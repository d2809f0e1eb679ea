// Drives the pages of `ir serve bundled` in headless Chromium: search, suggestion, in-paper navigation, annotation,
// review, publication, and the new question found. Every page is checked by axe-core in both color schemes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const folder = process.env.SCREENSHOTS;
mkdirSync(folder, { recursive: true });
const data = mkdtempSync(join(tmpdir(), "pages-"));
let started, origin, browser, context, page;
const servers = [];
const errors = [];

// Starts a server, and returns the first lines that it prints: its address and its keys.
async function serve(...args) {
  const server = spawn(process.env.IR, ["serve", ...args, "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
  servers.push(server);
  return new Promise((resolve, reject) => {
    const lines = [];
    createInterface({ input: server.stdout }).on("line", (line) => {
      lines.push(line);
      if (lines.length === 3) resolve(lines);
    });
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

before(async () => {
  started = performance.now();
  // The command of the README, with a data folder and a port of its own.
  const [address] = await serve("bundled", "--data", join(data, "bundled"), "--listen", "127.0.0.1:0");
  origin = address.replace(/\/$/, "");
  browser = await chromium.launch({
    executablePath: process.env.IR_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
  // axe-core is evaluated by the test, which the policy of the pages forbids to scripts of the page.
  context = await browser.newContext({ baseURL: origin });
  page = await context.newPage();
  page.on("console", (message) => {
    // A status of 4xx is a message of the console, too.
    if (message.type() === "error" && !message.text().includes("status of 4")) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
}, { timeout: 120_000 });

after(async () => {
  await browser?.close();
  for (const server of servers) {
    const ended = new Promise((resolve) => server.once("exit", resolve));
    if (server.kill()) await ended;
  }
  rmSync(data, { recursive: true, force: true });
});

// Checks a page with axe-core in both color schemes, and writes screenshots.
async function check(name, page = context.pages()[0]) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.evaluate(axe);
    const results = await page.evaluate(() => axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }));
    const violations = results.violations.map((violation) =>
      `${violation.id}: ${violation.help}: ${violation.nodes.map((node) => node.html).join(" ")}`);
    assert.deepEqual(violations, [], `${name}, ${colorScheme}`);
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
  }
  await page.emulateMedia({ colorScheme: "light" });
  const size = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(overflow <= 0, `${name}: ${overflow} pixels wider than a phone`);
  await page.screenshot({ path: `${folder}/${name}-phone.png` });
  await page.setViewportSize(size);
}

test("a question is answered within a minute of the start", async () => {
  const question = "Who wrote questions after a visit to a farm?";
  await page.goto("/");
  await page.getByRole("combobox").fill(question);
  const answer = page.getByRole("article").first();
  // The papers may not be published yet.
  while (true) {
    await page.getByRole("combobox").press("Enter");
    await page.waitForURL(/q=/);
    if (await answer.isVisible()) break;
    assert.ok(performance.now() - started < 60_000);
    await page.waitForTimeout(100);
  }
  const seconds = (performance.now() - started) / 1000;
  console.log(`a question answered in the browser ${seconds.toFixed(1)} s after the start of the server`);
  assert.match(await answer.textContent(), /Volunteers wrote the questions after a visit to a farm/);
  assert.ok(seconds < 60);
});

test("first page", async () => {
  const times = [];
  for (let run = 0; run < 20; run++) {
    const start = performance.now();
    await (await fetch(origin + "/")).text();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  console.log(`first page: median ${times[10].toFixed(1)} ms, maximum ${times[19].toFixed(1)} ms`);
  assert.ok(times[10] < 50);
  await page.goto("/");
  await check("home");
});

test("suggestion by keyboard, and search", async () => {
  await page.goto("/");
  await page.getByRole("combobox").pressSequentially("harv");
  const options = page.getByRole("option");
  await options.nth(1).waitFor();
  assert.equal(await page.getByRole("combobox").getAttribute("aria-expanded"), "true");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.getByRole("combobox").inputValue(), "HarvestQA: Questions About Farming Leaflets");
  const isSuggested = () => page.locator("input[name=suggested]").isEnabled();
  assert.equal(await isSuggested(), true);
  await check("suggestions");
  await page.keyboard.press("Escape");
  assert.equal(await page.getByRole("combobox").inputValue(), "harv");
  assert.equal(await isSuggested(), false);
  assert.equal(await options.first().isVisible(), false);
  await page.getByRole("combobox").press("e");
  await options.first().waitFor();
  await page.keyboard.press("ArrowUp");
  await page.getByRole("button", { name: "Search" }).click();
  await page.waitForURL(/suggested=1/);
  await page.goto("/");
  await page.getByRole("combobox").pressSequentially("harve");
  await options.first().waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.waitForURL(/suggested=1/);
  await page.getByRole("article").first().waitFor();
  await page.getByText("Why? Score").first().click();
  await check("answers");
});

test("filters without a script", async () => {
  const plain = await browser.newContext({ baseURL: origin, javaScriptEnabled: false });
  const bare = await plain.newPage();
  await bare.goto("/");
  await bare.getByLabel("Question", { exact: true }).fill("questions about leaflets");
  await bare.getByText("Filters", { exact: true }).click();
  await bare.getByLabel("From year").fill("2014");
  await bare.getByLabel("To year").fill("2014");
  await bare.getByRole("button", { name: "Search" }).click();
  await bare.getByRole("article").first().waitFor();
  const years = await bare.locator(".place .year").allTextContents();
  assert.ok(years.length > 0 && years.every((year) => year === "2014"), String(years));
  await bare.getByRole("link", { name: "View in document" }).first().click();
  await bare.getByRole("link", { name: "Next", exact: true }).click();
  assert.match(bare.url(), /at=\d+#answer-\d+$/);
  await bare.getByRole("link", { name: "Add questions" }).click();
  await bare.locator("a.sentence").first().click();
  await bare.getByLabel("Question").waitFor();
  await plain.close();
});

test("in-paper navigation by links and keys", async () => {
  await page.goto("/?q=questions+about+farming+leaflets");
  await page.waitForTimeout(400);
  await page.getByRole("link", { name: "View in document" }).first().click();
  await page.waitForURL(/\/document\//);
  const current = () => page.locator("[data-current]").textContent();
  const start = Number(await current());
  const total = await page.locator("mark[id^=answer-]").count();
  assert.ok(total > 2);
  const inView = () => page.evaluate(() => {
    const box = document.querySelector("mark.current").getBoundingClientRect();
    return box.top >= 0 && box.bottom <= innerHeight;
  });
  assert.ok(await inView());
  await page.waitForFunction(() => document.activeElement.matches("mark.current"), null, { timeout: 10_000 });
  await page.keyboard.press("n");
  assert.equal(Number(await current()), start % total + 1);
  assert.ok(await inView());
  await page.keyboard.press("p");
  assert.equal(Number(await current()), start);
  await page.getByRole("link", { name: "Next", exact: true }).click();
  assert.equal(Number(await current()), start % total + 1);
  assert.equal(await page.locator("mark.current").count(), 1);
  // Keys are text in a control, and nothing outside of the text.
  await page.getByRole("combobox").press("n");
  assert.equal(Number(await current()), start % total + 1);
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("n");
  assert.equal(Number(await current()), start % total + 1);
  await page.locator("article .page, article h2, article p").first().click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("n");
  assert.equal(Number(await current()), (start + 1) % total + 1);
  await check("document");
});

test("answers by paper, with citations and permanent links", async () => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  await page.goto("/?q=questions+about+farming+leaflets");
  const papers = await page.getByRole("article").getByRole("heading").allTextContents();
  assert.equal(new Set(papers).size, papers.length, "a paper is shown once");
  const first = page.getByRole("article").first();
  await page.locator("details.more summary").first().click();
  await check("answers-by-paper");
  await first.getByRole("button", { name: "Copy with citation" }).first().click();
  await first.getByRole("button", { name: "Copied" }).waitFor();
  const copied = (await page.evaluate(() => navigator.clipboard.readText())).split("\n");
  assert.equal(copied.length, 3);
  assert.match(copied[0], /^“.+”$/);
  await page.goto(copied[2]);
  assert.equal(`“${await page.locator("mark.current").textContent()}”`, copied[0]);
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "BibTeX" }).click();
  assert.match(readFileSync(await (await download).path(), "utf8"), /^@\w+\{[a-z0-9]+,\n {2}author = /);
});

test("all papers, and answers by score", async () => {
  await page.goto("/");
  await page.getByRole("link", { name: "Papers", exact: true }).click();
  await page.getByRole("link", { name: "Year", exact: true }).click();
  await page.waitForURL(/sort=year/);
  const years = (await page.locator("tbody td:nth-child(4)").allTextContents()).map(Number);
  assert.equal(years.length, 20);
  assert.deepEqual(years, [...years].sort((a, b) => b - a));
  await check("papers");
  await page.goto("/document/harvestqa.xml?q=questions+about+farming+leaflets");
  await page.getByRole("link", { name: "By score" }).click();
  await page.waitForURL(/by=score/);
  const rank = () => page.locator("mark.current").getAttribute("data-rank").then(Number);
  const start = await rank();
  await page.getByRole("link", { name: "Next", exact: true }).click();
  assert.equal(await rank(), start + 1);
  await page.waitForFunction(() => document.activeElement.matches("mark.current"));
  await page.keyboard.press("p");
  assert.equal(await rank(), start);
  await check("document-by-score");
});

test("papers are added by files, and one question to all papers", async () => {
  await page.goto("/papers");
  await check("papers-add");
  const file = (name, text) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) });
  await page.getByLabel("Drop files here").setInputFiles([
    file("kites.md", "---\ntitle: On kites\ndoi: 10.1000/182\n---\n\nKites of silk fly above the harbor.\n"),
    file("kites.png", "PNG"),
  ]);
  await page.getByText("kites.md: added").waitFor();
  await page.getByText("kites.png: kites.png: expected an extension").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByText("finished").waitFor();
  await page.goto("/?q=kites+of+silk");
  await page.getByRole("link", { name: "Best answer of every paper" }).click();
  await page.waitForURL(/\/table\?/);
  assert.match(await page.getByRole("row").nth(1).textContent(), /On kites.*Kites of silk fly above the harbor/);
  await check("table");
  const download = page.waitForEvent("download");
  await page.getByRole("link", { name: "All as CSV" }).click();
  const lines = readFileSync(await (await download).path(), "utf8").split("\r\n");
  assert.match(lines[1], /^kites\.md,On kites,/);
  assert.equal(lines.length, 23);
});

test("suggestions keep what was typed", async () => {
  await page.goto("/");
  await page.getByRole("combobox").pressSequentially("which recordi");
  const options = page.getByRole("option");
  await options.first().waitFor();
  for (let number = 0; number < await options.count(); number++) {
    await page.keyboard.press("ArrowDown");
    assert.match(await page.getByRole("combobox").inputValue(), /^which recordi/);
  }
});

test("annotation of a selected span", async () => {
  await page.goto("/document/harvestqa.xml");
  const text = "Volunteers wrote the questions";
  await page.evaluate((text) => {
    const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.data.indexOf(text);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + text.length);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      walker.currentNode.parentElement.scrollIntoView();
      break;
    }
    document.dispatchEvent(new PointerEvent("pointerup", { bubbles: true }));
  }, text);
  await page.getByRole("form", { name: "Question about the selected text" }).waitFor();
  assert.equal(await page.locator("[data-span]").textContent(), text);
  await check("annotate");
  await page.getByLabel("Question that it answers").fill("Which helpers authored the harvest questionnaire?");
  await page.getByLabel("Your name").fill("Ann");
  await page.getByRole("button", { name: "Save question" }).click();
  await page.waitForURL(/saved=1/);
  assert.ok(await page.getByText("Which helpers authored the harvest questionnaire?").isVisible());
  assert.equal(await page.locator(".annotated").textContent(), text);
  await page.goto("/annotations");
  await check("annotations");
  // The form without a script.
  await page.goto("/document/harvestqa.xml?annotate=1");
  await check("document-sentences");
  await page.locator("a.sentence").first().click();
  await page.waitForURL(/\/annotate\?/);
  await check("annotation-form");
});

test("two tabs edit one annotation", async () => {
  await page.goto("/annotations/1");
  await check("annotation");
  const other = await context.newPage();
  await other.goto("/annotations/1");
  await other.getByLabel("Question").fill("Which helpers wrote the harvest questionnaire?");
  await other.getByRole("button", { name: "Save" }).click();
  await other.waitForURL(/annotations$/);
  await other.close();
  await page.getByLabel("Question").fill("Which helpers authored the questionnaire?");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "was edited meanwhile" }).waitFor();
  await check("conflict");
  await page.getByRole("button", { name: "Replace it with yours" }).click();
  await page.waitForURL(/annotations$/);
  assert.ok(await page.getByText("Which helpers authored the questionnaire?").isVisible());
});

test("review, publication, and the new question is found", async () => {
  await page.goto("/review");
  await check("review");
  await page.getByRole("button", { name: "Accept" }).click();
  await page.getByText("There is nothing to review here.").waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByText("finished").waitFor();
  await check("job");
  await page.goto("/");
  await page.getByRole("combobox").pressSequentially("which helpers");
  await page.getByRole("option").first().click();
  await page.waitForURL(/suggested=1/);
  assert.match(await page.getByRole("article").first().textContent(), /Volunteers wrote the questions/);
  // The question that was asked is not related to itself.
  const related = page.getByRole("region", { name: "You may also want to know" });
  assert.equal(await related.count(), 0);
  await page.goto("/?q=helpers+who+authored+it");
  assert.ok(await related.getByText("Which helpers authored the questionnaire?").isVisible());
});

test("a second verdict, and the agreement of reviewers", async () => {
  const second = await browser.newContext({ baseURL: origin });
  const reviewer = await second.newPage();
  await reviewer.goto("/review?show=second");
  await reviewer.getByRole("button", { name: "Accept" }).click();
  await reviewer.getByText("There is nothing to review here.").waitFor();
  await second.close();
  await page.goto("/review?show=mine");
  assert.ok(await page.getByText("Krippendorff").isVisible());
  assert.equal(await page.getByRole("group", { name: "Agreement of pairs" }).getByRole("row").count(), 2);
  await check("agreement");
});

test("files that cannot be read, roles, and the rate of a key", async () => {
  const papers = join(data, "papers");
  mkdirSync(papers);
  writeFileSync(join(papers, "tea.md"), "# Tea\n\nTea comes from Asia.\n");
  writeFileSync(join(papers, "broken.xml"), "<article>");
  writeFileSync(join(papers, "logo.png"), "PNG");
  const [address, ...keys] = await serve(papers, "--listen", "0.0.0.0:0", "--rate-limit", "2");
  const [admin, query] = keys.map((line) => line.replace(/^.*: /, ""));
  const baseURL = address.replace("0.0.0.0", "127.0.0.1");
  const signedIn = async (key) => {
    const guest = await (await browser.newContext({ baseURL })).newPage();
    await guest.goto("/annotations");
    await guest.getByLabel("Key").fill(key);
    await guest.getByRole("button", { name: "Sign in" }).click();
    await guest.waitForURL(/annotations$/);
    return guest;
  };
  const reader = await signedIn(query);
  await reader.goto("/insight");
  await reader.getByRole("heading", { name: "Not permitted" }).waitFor();
  await check("forbidden", reader);
  await reader.context().close();
  const owner = await signedIn(admin);
  // The files may not be read yet. Two pages a second are permitted.
  const list = owner.getByRole("link", { name: "List them" });
  const end = performance.now() + 60_000;
  while (!await list.isVisible()) {
    assert.ok(performance.now() < end, "the files are not listed");
    await owner.waitForTimeout(1_000);
    await owner.goto("/review");
  }
  await owner.waitForTimeout(1_000);
  await list.click();
  await owner.waitForURL(/files$/);
  assert.equal(await owner.getByRole("row").count(), 4);
  await check("files", owner);
  const statuses = [];
  while (statuses.at(-1) !== 429) {
    assert.ok(statuses.length < 100);
    statuses.push((await owner.goto("/annotations")).status());
  }
  assert.ok(await owner.getByText("Wait a moment, then load the page again.").isVisible());
  await check("too-many-requests", owner);
  await owner.context().close();
});

test("datasets, insight, sign-in, and errors", async () => {
  await page.goto("/datasets/annotate");
  await page.getByLabel("Abstract of the paper").fill("We parse English text by few-shot learning.");
  await page.getByRole("button", { name: "Suggest fields" }).click();
  assert.equal(await page.getByLabel("Language").inputValue(), "English");
  await check("dataset-form");
  await page.getByLabel("Query").fill("A few-shot parser");
  await page.getByLabel("Relevant datasets").fill("Penn Treebank");
  await page.getByRole("button", { name: "Save" }).click();
  await page.waitForURL(/datasets$/);
  await check("datasets");
  await page.goto("/insight");
  await check("insight");
  await page.goto("/sign-in");
  await check("sign-in");
  await page.goto("/document/unknown");
  await check("not-found");
  await page.goto("/?q=zzzyzx");
  await check("nothing-found");
});

test("no errors of scripts, and no violation of the policy", () => {
  assert.deepEqual(errors, []);
});

import { chromium, type Browser as Chromium, type Page } from "playwright-core";

/** How a page is looked at. */
export interface View {
  /** Width of the window in CSS pixels. Default: 1280. */
  readonly width?: number;
  /** Default: 800. */
  readonly height?: number;
  /** Default: `light`. */
  readonly colorScheme?: "light" | "dark";
}

/** A page with a profile of its own, and what went wrong in it. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** Uncaught errors, messages of the console's level `error` (which include refused requests), and dialogs, in their order. */
  readonly problems: readonly string[];
}

/**
 * Flags with which Chromium does no more than show pages. Names other than loopback are not resolved, so that nothing leaves the machine;
 * `rebound.test` stands for the name of another site that resolves to this machine. All certificates are accepted, because none is from a known authority.
 */
const flags = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--ignore-certificate-errors",
  "--host-resolver-rules=MAP rebound.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE [::1]",
];

/** A headless Chromium: the one that `CHROMIUM` names, as the level does; default: Debian's. */
export class Browser implements AsyncDisposable {
  readonly #chromium: Chromium;

  private constructor(started: Chromium) {
    this.#chromium = started;
  }

  static async start(): Promise<Browser> {
    return new Browser(await chromium.launch({ executablePath: process.env["CHROMIUM"] || "/usr/bin/chromium", args: flags }));
  }

  /** Opens an empty page, without cookies or cache of others. */
  async open(view: View = {}): Promise<OpenPage> {
    const { width = 1280, height = 800, colorScheme = "light" } = view;
    const context = await this.#chromium.newContext({ viewport: { width, height }, colorScheme });
    const page = await context.newPage();
    return { page, problems: collectProblems(page), [Symbol.asyncDispose]: () => context.close() };
  }

  /** As {@link open}, at an address that must answer with success. */
  async goto(url: string, view: View = {}): Promise<OpenPage> {
    const opened = await this.open(view);
    const answer = await opened.page.goto(url);
    if (answer?.ok() !== true) throw new Error(`open ${url} in a browser: the answer is ${answer?.status() ?? "missing"}`);
    return opened;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#chromium.close();
  }
}

function collectProblems(page: Page): string[] {
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(`${message.text()} (${message.location().url})`);
  });
  page.on("dialog", (dialog) => {
    problems.push(`${dialog.type()}: ${dialog.message()}`);
    void dialog.dismiss();
  });
  return problems;
}

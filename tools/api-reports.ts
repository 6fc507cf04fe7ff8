import { Extractor, ExtractorConfig, ExtractorLogLevel } from "@microsoft/api-extractor";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CheckResult } from "./check.ts";
import { buildPackages } from "./packed-packages.ts";
import { publishedPackages, root, type WorkspacePackage } from "./workspace.ts";

/** A package's file with all that users can import from it, as signatures without comments. */
interface ApiReport {
  /** Relative to the top. */
  readonly path: string;
  readonly text: string;
}

/** Describes a package's API from its built declarations, entry by entry. */
function apiReport({ folder, manifest }: WorkspacePackage): ApiReport {
  const entries = Object.entries(manifest.exports ?? {}).flatMap(([path, entry]) => {
    const types = typeof entry === "string" ? undefined : entry["types"];
    return types === undefined ? [] : [`## ${manifest.name}${path.slice(1)}\n\n${signatures(join(root, folder), types)}`];
  });
  const head = `# API of ${manifest.name}

What users can import, and the types that these refer to. API Extractor writes this page from the built declarations (\`make api\`), and
the level \`packages\` compares it. A line that is removed or changed here can break a user's program: the changeset must say so.
`;
  return { path: `${folder}/api-report.md`, text: [head, ...entries].join("\n") };
}

/** The signatures that a declaration file exports, as a block of TypeScript. @throws Error with API Extractor's messages */
function signatures(folder: string, types: string): string {
  const output = mkdtempSync(join(tmpdir(), "vk-api-"));
  try {
    const entry = join(folder, types);
    const compilerOptions = {
      target: "es2024",
      lib: ["es2024", "esnext.disposable", "esnext.error"],
      module: "nodenext",
      moduleResolution: "nodenext",
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
      types: ["node"],
    };
    const silent = { default: { logLevel: ExtractorLogLevel.None } };
    const config = ExtractorConfig.prepare({
      configObject: {
        projectFolder: folder,
        mainEntryPointFilePath: entry,
        newlineKind: "lf",
        compiler: { overrideTsconfig: { compilerOptions, files: [entry] } },
        apiReport: {
          enabled: true,
          reportFileName: "entry",
          reportFolder: output,
          reportTempFolder: output,
          includeForgottenExports: true,
        },
        docModel: { enabled: false },
        dtsRollup: { enabled: false },
        tsdocMetadata: { enabled: false },
        messages: { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent },
      },
      configObjectFullPath: undefined,
      packageJsonFullPath: join(folder, "package.json"),
    });
    const problems: string[] = [];
    const { errorCount } = Extractor.invoke(config, {
      localBuild: true,
      messageCallback: (message) => {
        if (message.logLevel === "error") problems.push(message.text);
        message.handled = true;
      },
    });
    if (errorCount > 0) throw new Error(`API Extractor cannot describe ${entry}: ${problems.join("; ")}`);
    const report = readFileSync(join(output, "entry.api.md"), "utf8");
    const block = /^```ts\n[\s\S]*^```$/m.exec(report)?.[0];
    if (block === undefined) throw new Error(`API Extractor's report of ${entry} contains no signatures`);
    return `${block
      .replaceAll(/^ *\/\/ (@public|\(undocumented\)|\(No @packageDocumentation .*)\n/gm, "")
      .replaceAll(/\n{3,}/g, "\n\n")
      .replaceAll(/\n\n```$|(?<=```ts)\n(?=\n)/g, (end) => end.slice(1))}\n`;
  } finally {
    rmSync(output, { recursive: true, force: true });
  }
}

/** Compares the committed reports with the built packages. */
export function checkApiReports(): CheckResult[] {
  return publishedPackages().map((owner) => {
    const { path, text } = apiReport(owner);
    const committed = existsSync(join(root, path)) ? readFileSync(join(root, path), "utf8") : "";
    const remedy = "run `make api`, review what it changes, and commit it";
    return {
      name: `API report of ${owner.manifest.name}`,
      problems: committed === text ? [] : [`${path} is not up to date: ${remedy}${firstDifference(committed, text)}`],
    };
  });
}

/** The first lines that differ, of the committed report and of the present one. */
function firstDifference(committed: string, present: string): string {
  const [before, now] = [committed.split("\n"), present.split("\n")];
  const index = now.findIndex((line, at) => line !== before[at]);
  const at = index === -1 ? now.length : index;
  return `\nline ${at + 1}\n- ${before[at] ?? ""}\n+ ${now[at] ?? ""}`;
}

// make api: builds the packages and writes their reports.
if (import.meta.main) {
  await buildPackages();
  for (const { path, text } of publishedPackages().map(apiReport)) {
    writeFileSync(join(root, path), text);
    console.log(path);
  }
}

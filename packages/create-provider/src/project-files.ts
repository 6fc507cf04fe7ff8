import { CreateError } from "./create-error.ts";
import type { Kind } from "./kind.ts";
import type { Project } from "./project.ts";
import { fillTemplate, type Template } from "./template.ts";

/** Dependencies of the sources of each template. */
const dependencies: Readonly<Record<Kind, readonly string[]>> = {
  process: ["@virtual-kubelet/core", "@virtual-kubelet/errdefs", "zod"],
  remote: ["@virtual-kubelet/core", "@virtual-kubelet/errdefs", "@virtual-kubelet/remote-pods", "zod"],
};
/** Dependencies of its tests and scripts. */
const devDependencies = ["@types/node", "@virtual-kubelet/testing", "typescript", "virtual-kubelet"] as const;

/**
 * All files of a new project: the template, and the files that an npm package needs. Contents by path.
 *
 * @param tarballs - packages to install instead of published ones: `file:` and a path, by name
 */
export function projectFiles(
  template: Template,
  project: Project,
  tarballs: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const { "README.md": readme = "", ...filled } = fillTemplate(template.sources[project.kind], project);
  return {
    "package.json": json(manifest(template, project, tarballs)),
    "tsconfig.json": json(tsconfig),
    "tsconfig.build.json": json(tsconfigBuild),
    ".gitignore": "node_modules/\ndist/\n",
    "README.md": readme.replace("\n## Configuration\n", () => `\n${work(template, project)}\n## Configuration\n`),
    ...filled,
  };
}

function manifest(
  { versions, engine }: Template,
  { kind, packageName, description }: Project,
  tarballs: Readonly<Record<string, string>>,
): object {
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      names.map((name) => {
        const version = tarballs[name] ?? versions[name];
        if (version === undefined) throw new CreateError(`the template has no version for ${name}`);
        return [name, version];
      }),
    );
  const direct: readonly string[] = [...dependencies[kind], ...devDependencies];
  return {
    name: packageName,
    version: "0.1.0",
    description,
    keywords: ["kubernetes", "virtual-kubelet", "virtual-kubelet-provider"],
    type: "module",
    sideEffects: false,
    engines: { node: engine },
    files: ["dist"],
    exports: { ".": { types: "./dist/index.d.ts", default: "./dist/index.js" }, "./package.json": "./package.json" },
    scripts: {
      build: "tsc -p tsconfig.build.json",
      prepare: "npm run build",
      start: "npm run build && virtual-kubelet run --provider ./",
      test: 'tsc && node --test "{src,test}/**/*.test.ts"',
      ...(kind === "remote" && { "fake-api": "node test/run-fake-api.ts" }),
    },
    dependencies: pick(dependencies[kind]),
    devDependencies: pick(devDependencies),
    ...(Object.keys(tarballs).length > 0 && {
      overrides: Object.fromEntries(Object.entries(tarballs).map(([name, file]) => [name, direct.includes(name) ? `$${name}` : file])),
    }),
  };
}

const tsconfig = {
  compilerOptions: {
    target: "es2024",
    // Supported by Node.js 22.
    lib: ["es2024"],
    module: "nodenext",
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    erasableSyntaxOnly: true,
    rewriteRelativeImportExtensions: true,
    skipLibCheck: true,
    noEmit: true,
  },
  include: ["src", "test"],
};

const tsconfigBuild = {
  extends: "./tsconfig.json",
  compilerOptions: { noEmit: false, declaration: true, rootDir: "src", outDir: "dist" },
  include: ["src"],
  exclude: ["**/*.test.ts"],
};

/** Maximum number of packages in a project's `node_modules`, and their maximum size in MB; a check of the repository enforces them. */
const treeSize = { packages: 40, megabytes: 55 } as const;

function work({ engine }: Template, { kind }: Project): string {
  const commands = [
    "npm install                       # builds it, too",
    "npm test                          # types, and the suite that every provider passes",
    ...(kind === "remote" ? ["npm run fake-api                  # what `npm start` talks to by default; in a terminal of its own"] : []),
    "npm start -- --nodename my-node   # joins the cluster of your kubeconfig",
    "npx virtual-kubelet plan --provider ./ -f pod.yaml   # what it would send for a pod",
  ];
  return `## Work on it

\`\`\`sh
${commands.join("\n")}
\`\`\`

The provider, its build and its tests run on Node.js ${engine}. \`npm start\` and \`npx virtual-kubelet\` are the program, which needs
Node.js 24.11 or newer.

\`node_modules\` holds at most ${treeSize.packages} packages in ${treeSize.megabytes} MB, and no native add-on: the tests run on Node's own runner, and TypeScript is version 6,
which is JavaScript.
`;
}

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

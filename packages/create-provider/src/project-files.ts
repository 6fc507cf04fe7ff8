import { CreateError } from "./create-error.ts";
import type { Project } from "./project.ts";
import { fillTemplate, type Template } from "./template.ts";

/** What the template's sources import. */
const dependencies = ["@virtual-kubelet/core", "@virtual-kubelet/errdefs", "zod"] as const;
/** What its tests and scripts need. */
const devDependencies = ["@types/node", "@virtual-kubelet/testing", "typescript", "virtual-kubelet", "vitest"] as const;

/** Every file of a project of its own: the template, and what a package of npm needs around it. Texts by path. */
export function projectFiles(template: Template, project: Project): Record<string, string> {
  const { "README.md": readme = "", ...filled } = fillTemplate(template, project);
  return {
    "package.json": json(manifest(template, project)),
    "tsconfig.json": json(tsconfig),
    "tsconfig.build.json": json(tsconfigBuild),
    ".gitignore": "node_modules/\ndist/\n",
    "README.md": readme.replace("\n## Configuration\n", () => `\n${work(template)}\n## Configuration\n`),
    ...filled,
  };
}

function manifest({ versions, engine }: Template, { packageName, description }: Project): object {
  const pick = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(
      names.map((name) => {
        const version = versions[name];
        if (version === undefined) throw new CreateError(`the template does not say which version of ${name} it needs`);
        return [name, version];
      }),
    );
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
      test: "tsc && vitest run",
    },
    dependencies: pick(dependencies),
    devDependencies: pick(devDependencies),
  };
}

const tsconfig = {
  compilerOptions: {
    target: "es2024",
    // What Node.js 22 has.
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
  compilerOptions: { noEmit: false, declaration: true, sourceMap: true, inlineSources: true, rootDir: "src", outDir: "dist" },
  include: ["src"],
  exclude: ["**/*.test.ts"],
};

const work = ({ engine }: Template): string => `## Work on it

\`\`\`sh
npm install                       # builds it, too
npm test                          # types, and the suite that every provider passes
npm start -- --nodename my-node   # joins the cluster of your kubeconfig
npx virtual-kubelet plan --provider ./ -f pod.yaml   # what it would send for a pod
\`\`\`

The provider, its build and its tests run on Node.js ${engine}. \`npm start\` and \`npx virtual-kubelet\` are the program, which needs
Node.js 24.11 or newer.
`;

function json(value: object): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

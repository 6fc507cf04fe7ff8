import type { KnipConfig } from "knip";

/**
 * Rules of the check for dead code. `knip` reports files, exports and dependencies that nothing uses, and exports that only their own file
 * uses. `knip --production` looks at the patterns with `!` at their end alone: it reports what only tests use. Exports of what a manifest's
 * `exports` names are the package's API, which nothing here has to use.
 *
 * Entry files are what manifests, their scripts and vitest.config.ts name, and the programs below, which are started by their path.
 */
function configure({ production = false }: { readonly production?: boolean }): KnipConfig {
  const product = ["{src,test}/**/*.ts!", "!src/**/*.test.ts!", "!src/**/test-support/**!"];
  return {
    workspaces: {
      ".": { project: ["*.ts!"] },
      "packages/*": { project: product },
      "packages/embedded-apiserver": { entry: ["src/program/main.ts!", "src/program/envtest/{etcd,kube-apiserver}.ts!"], project: product },
      "packages/testing": { entry: ["src/file-provider/file-backend-main.ts!"], project: product },
      "{providers,templates}/*": { entry: ["test/run-*.ts!"], project: product },
      "examples/*": { project: ["src/**/*.ts!"] },
      bench: {
        entry: [
          "src/{run,nomad,growth,many-nodes,lease-under-load,our-node}.ts!",
          "src/{bare-loop,embedding-host,pause-recorder,idle-loop}.mjs!",
        ],
        project: ["src/**/*.{ts,mjs}!"],
      },
      e2e: {
        entry: [
          "nomad/run-on-agent.ts",
          "support/far-process-cluster/main.ts",
          "kubernetes/run.ts",
          "control-plane/kubectl-comparison/record-differences.ts",
          "control-plane/requests/record-differences.ts",
          "upstream/controller-runtime/record.ts",
          "packages/{second-zod,try-packages,use-object-types}.ts",
        ],
        project: ["**/*.ts"],
      },
      tools: {
        entry: [
          "{bootstrap-objects,conformance,declarative-rules,demo-picture,e2e-docker,image,kube-apiserver-flags,kubernetes-e2e,moby-engine,mutation,openapi-schemas}.ts!",
          "{bundle-dependency,bundle-package,pack,pack-template,patient-waits,property-seed,protobuf-messages,record-api-answers,remove-unused-declarations,set-scope,test,write-object-types}.ts!",
          "mutation/{record-reach,runner}.ts!",
          "record-systemd/record.ts!",
          // Named in typedoc.json.
          "site/{site-versions,typedoc-plugin}.ts!",
          // Bundled by the plugin.
          "site/page-script.js!",
        ],
        project: ["**/*.ts!", "site/*.js!", "!**/*.test.ts!"],
      },
      // Found by import.meta.resolve.
      "tools/node-22": { ignoreDependencies: ["node"] },
    },
    // A dependency of changesets, which looks for it beside itself.
    ignoreDependencies: ["@changesets/changelog-git"],
    exclude: ["binaries", "optionalPeerDependencies", ...(production ? (["dependencies", "unlisted"] as const) : [])],
    ignoreExportsUsedInFile: production,
  };
}

export default configure;

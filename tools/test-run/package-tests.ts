import { basename } from "node:path";
import { workspacePackages } from "../workspace.ts";

/** Short names of the packages that `PACKAGE=` takes: the folder's name, such as `core`, `docker` or `tools`. */
export function packageNames(): string[] {
  const folders = workspacePackages().map(({ folder }) => folder);
  return [...new Set(folders.filter((folder) => folder !== "e2e" && folder !== "bench").map(shortName))];
}

/** The templates' folders have the names of what they are templates of. */
function shortName(folder: string): string {
  return folder.startsWith("templates/") ? "template" : basename(folder);
}

/** The packages that the tests of `e2e/` are about, by the beginning of their path. */
const subjects: readonly (readonly [path: string, ...packages: string[]])[] = [
  ["e2e/aci/", "aci"],
  ["e2e/browser/exec", "streaming", "kubelet-api", "cli"],
  ["e2e/browser/status-page", "cli"],
  ["e2e/browser/site", "cli"],
  ["e2e/clouds/aci", "aci", "remote-pods", "cli"],
  ["e2e/clouds/fargate", "fargate", "remote-pods", "cli"],
  ["e2e/clusters/", "kubernetes", "cli"],
  ["e2e/clusters/usage", "metrics"],
  ["e2e/conformance/aci", "aci", "testing"],
  ["e2e/conformance/broken-providers", "testing"],
  ["e2e/conformance/example-provider", "process-provider", "testing", "core"],
  ["e2e/conformance/fargate", "fargate", "remote-pods"],
  ["e2e/conformance/file-provider", "testing"],
  ["e2e/conformance/kubernetes", "kubernetes", "testing"],
  ["e2e/conformance/large-streams", "testing", "streaming"],
  ["e2e/conformance/mock", "mock", "testing"],
  ["e2e/conformance/nomad", "nomad", "testing"],
  ["e2e/conformance/real-process-provider", "pod-runtime", "testing"],
  ["e2e/conformance/recording-provider", "testing"],
  ["e2e/conformance/remote-template", "template", "create-provider", "testing"],
  ["e2e/conformance/template", "template", "create-provider", "testing"],
  ["e2e/conformance/zun", "zun", "testing"],
  ["e2e/control-plane/compaction", "embedded-apiserver"],
  ["e2e/control-plane/access-rights", "core", "cli"],
  ["e2e/control-plane/api-server-restart", "core", "kube-client"],
  ["e2e/control-plane/bare-api-server", "embedded-apiserver"],
  ["e2e/control-plane/doctor", "cli"],
  ["e2e/control-plane/faults", "core", "kube-client"],
  ["e2e/control-plane/instances", "core", "cli"],
  ["e2e/control-plane/join", "cli", "kubelet-api"],
  ["e2e/control-plane/kube-client", "kube-client"],
  ["e2e/control-plane/kubectl-comparison", "embedded-apiserver"],
  ["e2e/control-plane/kubelet-access", "kubelet-api"],
  ["e2e/control-plane/launcher", "testing"],
  ["e2e/control-plane/node", "core"],
  ["e2e/control-plane/pod", "core"],
  ["e2e/control-plane/program-restart", "core", "cli"],
  ["e2e/control-plane/reflector", "kube-client"],
  ["e2e/control-plane/request-comparison", "embedded-apiserver"],
  ["e2e/control-plane/translation", "kubernetes"],
  ["e2e/control-plane/volumes", "core"],
  ["e2e/deployment/", "cli", "core"],
  ["e2e/deployment/apiserver-image", "embedded-apiserver"],
  ["e2e/docker/", "docker", "pod-runtime"],
  ["e2e/docker/autoscaling", "kubelet-api", "metrics"],
  ["e2e/docker/exposition", "kubelet-api", "metrics"],
  ["e2e/docker/figures", "kubelet-api", "metrics"],
  ["e2e/docker/persistent-volumes", "core", "cli"],
  ["e2e/docker/stateful-set", "core", "cli"],
  ["e2e/embedded/apiserver-program", "embedded-apiserver"],
  ["e2e/embedded/candidate-clusters", "kubernetes"],
  ["e2e/embedded/cli", "cli"],
  ["e2e/embedded/client-certificates", "embedded-apiserver", "kubelet-api"],
  ["e2e/embedded/discovered-nodes", "cli", "core"],
  ["e2e/embedded/embed-a-node", "core", "kubelet-api", "mock"],
  ["e2e/embedded/doctor", "cli"],
  ["e2e/embedded/fake-kube-client", "core", "embedded-apiserver"],
  ["e2e/embedded/envtest-assets", "embedded-apiserver"],
  ["e2e/embedded/far-", "kubernetes"],
  ["e2e/embedded/faults", "embedded-apiserver"],
  ["e2e/embedded/hostile-callers", "kubelet-api", "streaming"],
  ["e2e/embedded/hostile-tenant", "core", "docker", "mock", "nomad", "zun"],
  ["e2e/embedded/kubelet-api", "kubelet-api"],
  ["e2e/embedded/kubelet-proxy", "embedded-apiserver", "streaming"],
  ["e2e/embedded/many-nodes", "core", "kube-client"],
  ["e2e/embedded/mirrored-services", "kubernetes"],
  ["e2e/embedded/monitoring-guide", "metrics", "cli"],
  ["e2e/embedded/plan", "cli"],
  ["e2e/embedded/pictures", "cli", "tools"],
  ["e2e/embedded/pod-status", "core", "embedded-apiserver"],
  ["e2e/embedded/port-forward", "streaming"],
  ["e2e/embedded/process-provider", "process-provider", "core"],
  ["e2e/embedded/proxy", "kube-client"],
  ["e2e/embedded/readme", "embedded-apiserver"],
  ["e2e/embedded/settings-page", "cli"],
  ["e2e/embedded/shared-nodes", "core", "cli", "mock"],
  ["e2e/embedded/simulate", "cli", "mock"],
  ["e2e/embedded/start-up", "cli"],
  ["e2e/embedded/status", "cli", "core"],
  ["e2e/embedded/streaming", "streaming"],
  ["e2e/embedded/testing-guide/", "embedded-apiserver"],
  ["e2e/embedded/tracing", "cli", "core"],
  ["e2e/embedded/upstream-command-lines", "cli"],
  ["e2e/embedded/virtual-node", "core"],
  ["e2e/embedded/virtual-time", "embedded-apiserver", "core"],
  ["e2e/embedded/volumes", "core"],
  ["e2e/fargate/", "fargate"],
  ["e2e/interop/", "streaming", "kubelet-api", "embedded-apiserver"],
  ["e2e/kubectl/", "embedded-apiserver"],
  ["e2e/kubectl/nomad", "nomad"],
  ["e2e/monitoring/", "metrics", "tools"],
  ["e2e/kubernetes/", "tools"],
  ["e2e/node-network/doctor", "cli"],
  ["e2e/node-network/metrics", "metrics", "kubelet-api", "docker"],
  ["e2e/node-network/upstream-e2e", "core", "cli", "metrics", "kubelet-api"],
  ["e2e/nomad/", "nomad"],
  ["e2e/parity/", "embedded-apiserver"],
  ["e2e/simulation/", "core", "kube-client"],
  ["e2e/support/container-host/", "aci", "fargate"],
  ["e2e/sigs/", "embedded-apiserver", "docker"],
  ["e2e/upstream/", "embedded-apiserver"],
  ["e2e/zun/", "zun"],
];

/** Whether a test file, named from the top, belongs to the package with this short name. */
export function belongsTo(file: string, name: string): boolean {
  const [, own] = /^(?:packages|providers|examples|templates)\/([^/]+)\//.exec(file) ?? [];
  if (own !== undefined) return (file.startsWith("templates/") ? "template" : own) === name;
  if (file.startsWith("tools/")) return name === "tools";
  return subjects.some(([path, ...packages]) => file.startsWith(path) && packages.includes(name));
}

/** What is wrong with the table: test files that belong to no package, and rows without a file or with an unknown package. */
export function subjectProblems(files: readonly string[], packages: readonly string[]): string[] {
  const table = "the table in tools/test-run/package-tests.ts";
  return [
    ...files.filter((file) => packages.every((name) => !belongsTo(file, name))).map((file) => `${file} is in no row of ${table}`),
    ...subjects
      .filter(([path]) => files.every((file) => !file.startsWith(path)))
      .map(([path]) => `${table} has a row "${path}", and there is no such test`),
    ...subjects.flatMap(([path, ...names]) =>
      names
        .filter((name) => !packages.includes(name))
        .map((name) => `${table} names "${name}" for "${path}", and there is no such package`),
    ),
  ];
}

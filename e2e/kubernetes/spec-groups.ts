/** A group of Kubernetes' tests, selected by Ginkgo's filters: regular expressions for names and files. */
export interface SpecGroup {
  readonly title: string;
  readonly focus: string;
  readonly focusFile: string;
  /** Tests that belong to another group. */
  readonly skip: string;
  /** Tests of this group that are not run. */
  readonly leftOut?: readonly LeftOut[];
}

/** Omitted tests of a group, and the reason. */
export interface LeftOut {
  /** Matches the names of the tests. */
  readonly tests: string;
  readonly why: string;
}

/** Groups of tests that `make conformance` runs; the first group is the measure of a node. */
export const specGroups: readonly SpecGroup[] = [
  {
    title: "Conformance, common/node and common/storage",
    focus: "\\[Conformance\\]",
    focusFile: "common/(node|storage)/",
    skip: "^$",
  },
  {
    title: "Conformance, node",
    focus: "\\[Conformance\\]",
    focusFile: "e2e/node/",
    skip: "^$",
  },
  {
    title: "NodeConformance beyond Conformance",
    focus: "\\[NodeConformance\\]",
    focusFile: "common/(node|storage)/",
    skip: "\\[Conformance\\]",
    leftOut: [{ tests: "should cap back-off at MaxContainerBackOff", why: "it takes half an hour by itself" }],
  },
];

/** Tests that pass with any node, because they exercise other components: by file, their names and the components. */
const withoutKubelet: Readonly<Record<string, { readonly tests: RegExp; readonly who: string }>> = {
  "common/node/configmap.go": { tests: /empty key|ConfigMap lifecycle|update ConfigMap successfully/, who: "API server" },
  "common/node/lease.go": { tests: /./, who: "API server" },
  "common/node/pod_hostnameoverride.go": { tests: /will fail to be created/, who: "API server" },
  "common/node/podtemplates.go": { tests: /./, who: "API server" },
  "common/node/runtimeclass.go": { tests: /./, who: "API server and scheduler" },
  "common/node/secrets.go": { tests: /empty secret key|should patch a secret/, who: "API server" },
  "common/node/sysctl.go": { tests: /should reject invalid sysctls/, who: "API server" },
  "common/storage/configmap_volume.go": { tests: /should be immutable/, who: "API server" },
  "common/storage/secrets_volume.go": { tests: /should be immutable/, who: "API server" },
  "node/node_lifecycle.go": { tests: /./, who: "API server" },
  "node/pods.go": { tests: /Set QOS Class/, who: "API server" },
};

/** Component that a test without need for a kubelet exercises; `undefined` if the test needs a kubelet. */
export function whoInsteadOfKubelet({ file, name }: { readonly file: string; readonly name: string }): string | undefined {
  const found = withoutKubelet[file];
  return found?.tests.test(name) ? found.who : undefined;
}

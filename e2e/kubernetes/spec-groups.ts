/** Some of Kubernetes' own tests, by Ginkgo's filters: regular expressions over names and files. */
export interface SpecGroup {
  readonly title: string;
  readonly focus: string;
  readonly focusFile: string;
  readonly skip: string;
}

/** What `make conformance` runs; the first group is the one that a node is judged by. */
export const specGroups: readonly SpecGroup[] = [
  {
    title: "Conformance, common/node and common/storage",
    focus: "\\[Conformance\\]",
    focusFile: "common/(node|storage)/",
    skip: "^$",
  },
  { title: "Conformance, node", focus: "\\[Conformance\\]", focusFile: "e2e/node/", skip: "^$" },
  {
    title: "NodeConformance beyond Conformance",
    focus: "\\[NodeConformance\\]",
    focusFile: "common/(node|storage)/",
    // They need a feature gate, a device or a node of their own, or half an hour.
    skip: "\\[Conformance\\]|\\[Serial\\]|\\[Disruptive\\]|\\[Alpha\\]|\\[Slow\\]|\\[Feature:",
  },
];

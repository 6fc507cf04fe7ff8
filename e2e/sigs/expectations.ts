/** Conformance tests of a special interest group of Kubernetes. */
export interface SigTests {
  /** Such as `sig-apps`. */
  readonly sig: string;
  /** Tests that fail here: a part of their name, and the reason. */
  readonly knownMisses: Readonly<Record<string, string>>;
  /** Tests that are not run: a part of their name, and the reason. */
  readonly leftOut: Readonly<Record<string, string>>;
}

/** What the level runs, and what it does not expect to pass. */
export const sigTests: readonly SigTests[] = [
  {
    sig: "sig-api-machinery",
    knownMisses: {},
    leftOut: {
      "Aggregator Should be able to support the 1.17 Sample API Server":
        "it needs images of sample-apiserver and etcd; e2e/parity aggregates a test's own server",
    },
  },
  {
    sig: "sig-apps",
    knownMisses: {},
    leftOut: {
      "should allow to use a pod failure policy to ignore failure matching on DisruptionTarget condition":
        "its containers are privileged, which not every machine allows; it then waits for 15 minutes",
      "should allow to use the pod failure policy on exit code to fail the job early":
        "its containers are privileged, which not every machine allows; it then passes for another reason, after 7 minutes",
    },
  },
];

/** Names of the tests that a part of a name in the list means. */
export function namedBy(list: Readonly<Record<string, string>>, names: Iterable<string>): readonly string[] {
  return [...names].filter((name) => Object.keys(list).some((part) => name.includes(part)));
}

/** Parts of names in the list that mean no test, or more than one. */
export function ambiguous(list: Readonly<Record<string, string>>, names: Iterable<string>): readonly string[] {
  const all = [...names];
  return Object.keys(list).filter((part) => all.filter((name) => name.includes(part)).length !== 1);
}

import type { Pod } from "@virtual-kubelet/core";
import { expect, test } from "vitest";
import { refuse } from "./refused-fields.ts";

type Spec = Partial<NonNullable<Pod["spec"]>>;
type Container = NonNullable<Pod["spec"]>["containers"][number];

const main: Container = { name: "main", image: "nginx" };
const with_ = (fields: Partial<Container>): Spec => ({ containers: [{ ...main, ...fields }] });
const podOf = (spec: Spec): Pod => ({ metadata: { name: "web" }, spec: { containers: [main], ...spec } });

test.each<[string, Spec]>([
  ["spec.activeDeadlineSeconds", { activeDeadlineSeconds: 5 }],
  ["spec.runtimeClassName", { runtimeClassName: "kata" }],
  ["spec.hostAliases", { hostAliases: [{ ip: "192.0.2.1", hostnames: ["db"] }] }],
  ["spec.dnsConfig", { dnsConfig: { nameservers: ["192.0.2.1"] } }],
  ["spec.dnsPolicy", { dnsPolicy: "None" }],
  ["spec.setHostnameAsFQDN", { setHostnameAsFQDN: true }],
  ["spec.resourceClaims", { resourceClaims: [{ name: "gpu" }] }],
  ["spec.hostUsers", { hostUsers: false }],
  ["spec.containers[0].resources.limits['example.com/fpga']", with_({ resources: { limits: { "example.com/fpga": "1" } } })],
  ["spec.containers[0].volumeDevices", with_({ volumeDevices: [{ name: "v", devicePath: "/dev/x" }] })],
  ["spec.containers[0].volumeMounts[0].subPathExpr", with_({ volumeMounts: [{ name: "v", mountPath: "/v", subPathExpr: "$(A)" }] })],
  [
    "spec.containers[0].volumeMounts[0].mountPropagation",
    with_({ volumeMounts: [{ name: "v", mountPath: "/v", mountPropagation: "Bidirectional" }] }),
  ],
  [
    "spec.initContainers[0].restartPolicyRules",
    { initContainers: [{ ...main, restartPolicyRules: [{ action: "Restart", exitCodes: { operator: "In", values: [1] } }] }] },
  ],
])("%s is refused by its name", (fieldPath, spec) => {
  expect(() => refuse(podOf(spec))).toThrow(
    expect.objectContaining({ code: "VK_UNSUPPORTED", fieldPath, message: expect.stringContaining(`${fieldPath}: `) }),
  );
});

test("a message names the other fields, too", () => {
  expect(() => refuse(podOf({ activeDeadlineSeconds: 5, runtimeClassName: "kata" }))).toThrow(/; also spec\.runtimeClassName$/);
});

test("what the API server writes into every pod is no reason to refuse it", () => {
  const pod = podOf({
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: true,
    preemptionPolicy: "PreemptLowerPriority",
    priority: 0,
    schedulerName: "default-scheduler",
    securityContext: {},
    serviceAccountName: "default",
    terminationGracePeriodSeconds: 30,
    ...with_({
      resources: { limits: { cpu: "1" }, requests: { cpu: "1", "ephemeral-storage": "1Gi" } },
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      volumeMounts: [{ name: "kube-api-access-x", mountPath: "/var/run/secrets/kubernetes.io/serviceaccount", readOnly: true }],
    }),
  });

  expect(() => refuse(pod)).not.toThrow();
});

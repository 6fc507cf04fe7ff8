import { silentLogger, type Pod } from "@virtual-kubelet/kube-client";
import { beforeEach, expect, test } from "vitest";
import type { ProviderPodStatus } from "../../provider/pod-lifecycle.ts";
import { LeftOutValues } from "./left-out-values.ts";

const pod: Pod = {
  metadata: { namespace: "default", name: "web", uid: "u1" },
  spec: {
    containers: [{ name: "app", resources: { requests: { "example.com/gpu": "1" } } }],
    initContainers: [{ name: "setup" }],
    ephemeralContainers: [{ name: "debug" }],
  },
};
const base = { image: "", imageID: "", ready: true, restartCount: 0 };
const claim = [{ name: "claim:a" }];
const expectedName = "expected a resource that the container requests, or a claim of it as claim:NAME or claim:NAME/REQUEST";

let warnings: object[];
let values: LeftOutValues;

beforeEach(() => {
  warnings = [];
  values = new LeftOutValues({
    logger: { ...silentLogger, warn: (fields, message) => void warnings.push({ ...(fields as object), message }) },
    providerName: "far",
  });
});

test("values that the API server would refuse are logged with their fields and what was expected", () => {
  const status: ProviderPodStatus = {
    podIP: "web.example.com",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "10.0.0" }],
    hostIP: "",
    hostIPs: [{ ip: "host" }],
    conditions: [
      { type: "example.com/gate", status: "True" },
      { type: "a..b/gate", status: "True" },
    ],
    containerStatuses: [
      { ...base, name: "stray", allocatedResourcesStatus: claim },
      { ...base, name: "app", allocatedResourcesStatus: [{ name: "example.com/gpu" }, ...claim] },
    ],
    initContainerStatuses: [{ ...base, name: "setup", user: { linux: { uid: -1, gid: 0 } } }],
    ephemeralContainerStatuses: [{ ...base, name: "debug", allocatedResourcesStatus: claim }],
  };
  values.log(pod, status);

  expect(warnings).toEqual([
    {
      pod: "default/web",
      uid: "u1",
      provider: "far",
      problems: [
        'conditions[1].type is "a..b/gate", expected a name such as Ready or example.com/ready',
        'podIP is "web.example.com", expected an IP address',
        'podIPs[1].ip is "10.0.0", expected an IP address',
        'hostIPs[0].ip is "host", expected an IP address',
        "initContainerStatuses[0].user.linux.uid is -1, expected a whole number from 0 to 2147483647",
        `containerStatuses[1].allocatedResourcesStatus[1].name is "claim:a", ${expectedName}`,
        'ephemeralContainerStatuses[0].allocatedResourcesStatus[0] is "claim:a", expected none, because an ephemeral container has no resources',
      ],
      message: "provider reported values that the API server would refuse; they are left out of the pod's status",
    },
  ]);
});

test("a field of a pod is logged once, and again for another pod and after the pod is forgotten", () => {
  const reported = (podIP: string, hostIP?: string): ProviderPodStatus => ({ podIP, ...(hostIP && { hostIP }) });
  values.log(pod, reported("a"));
  values.log(pod, reported("10.0.0.1"));
  values.log(pod, reported("b"));
  expect(warnings).toHaveLength(1);

  values.log(pod, reported("b", "c"));
  expect(warnings.slice(1)).toEqual([expect.objectContaining({ problems: ['hostIP is "c", expected an IP address'] })]);

  values.log({ ...pod, metadata: { ...pod.metadata, uid: "u2" } }, reported("a"));
  expect(warnings).toHaveLength(3);
  values.forget("u1");
  values.log(pod, reported("a"));
  expect(warnings).toHaveLength(4);
});

test("a report without such values is not logged", () => {
  values.log(pod, { phase: "Running", podIP: "fd00::1", containerStatuses: [{ ...base, name: "app" }] });

  expect(warnings).toEqual([]);
});

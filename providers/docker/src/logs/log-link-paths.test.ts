import { expect, test } from "vitest";
import { logLinkPaths, pathsOf, readEngineLog, readPodFolder, type LogName } from "./log-link-paths.ts";

const id = "0123456789abcdef".repeat(4);
const log: LogName = { namespace: "shop", name: "web-0", uid: "6a1f-b2", container: "app", attempt: 2, id };

/** The tag's regular expression in Fluent Bit's `kubernetes` filter. Source: FLB_KUBE_TAG_TO_REGEX of fluent-bit v4 kube_regex.h. */
const fluentBit =
  /(?<pod_name>[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)_(?<namespace_name>[^_]+)_(?<container_name>.+)-(?<docker_id>[a-z0-9]{64})\.log$/;

test("a container's log is linked where a kubelet has it", () => {
  expect(pathsOf("/var/log", log)).toEqual({
    podFolder: "/var/log/pods/shop_web-0_6a1f-b2",
    containerFolder: "/var/log/pods/shop_web-0_6a1f-b2/app",
    podLink: "/var/log/pods/shop_web-0_6a1f-b2/app/2.log",
    containerLink: `/var/log/containers/web-0_shop_app-${id}.log`,
  });
});

test("Fluent Bit reads pod, namespace and container from the link's name", () => {
  const { containerLink = "" } = pathsOf("/var/log", { ...log, name: "web.example-0", container: "side-car" }) ?? {};
  expect(fluentBit.exec(containerLink)?.groups).toEqual({
    pod_name: "web.example-0",
    namespace_name: "shop",
    container_name: "side-car",
    docker_id: id,
  });
});

test("the names are read from the engine's labels", () => {
  const labels = {
    "io.kubernetes.pod.namespace": "shop",
    "io.kubernetes.pod.name": "web-0",
    "io.kubernetes.pod.uid": "6a1f-b2",
    "io.kubernetes.container.name": "app",
    "virtual-kubelet.io/attempt": "2",
  };
  expect(logLinkPaths("/var/log", id, labels)).toEqual(pathsOf("/var/log", log));
  expect(logLinkPaths("/var/log", id, { ...labels, "virtual-kubelet.io/attempt": "-1" })).toBeUndefined();
  expect(logLinkPaths("/var/log", id, { ...labels, "io.kubernetes.container.name": "../../../etc" })).toBeUndefined();
});

const wrong: readonly (readonly [keyof LogName, string])[] = [
  ["namespace", ".."],
  ["namespace", ""],
  ["name", "a/b"],
  ["name", "a_b"],
  ["uid", "../x"],
  ["container", "."],
  ["container", "a\0b"],
  ["container", "x".repeat(254)],
  ["id", "../../etc/passwd"],
];

test.each(wrong)("a %s of %j has no paths", (part, value) => {
  expect(pathsOf("/var/log", { ...log, [part]: value })).toBeUndefined();
});

test("a name that no file can have is cut as a kubelet cuts it", () => {
  const { containerLink = "" } = pathsOf("/var/log", { ...log, name: "p".repeat(253), namespace: "n".repeat(63) }) ?? {};
  expect(containerLink.slice("/var/log/containers/".length)).toHaveLength(255);
  expect(containerLink).toMatch(/\.log$/);
});

test("only folders with a pod's three names are read", () => {
  expect(readPodFolder("shop_web-0_6a1f-b2")).toEqual({ namespace: "shop", name: "web-0", uid: "6a1f-b2" });
  expect(["shop_web-0", "shop_web-0_u1_x", "shop_.._u1", "lost+found"].map(readPodFolder)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("a container's folder is found in Docker's and in podman's paths", () => {
  expect(readEngineLog(`/var/lib/docker/containers/${id}/${id}-json.log`)).toEqual({
    id,
    parent: "/var/lib/docker/containers",
    folder: `/var/lib/docker/containers/${id}`,
  });
  expect(readEngineLog(`/var/lib/containers/storage/overlay-containers/${id}/userdata/ctr.log`)?.folder).toBe(
    `/var/lib/containers/storage/overlay-containers/${id}`,
  );
  expect(readEngineLog("/var/log/pods/shop_web-0_u1/app/0.log.20260101")).toBeUndefined();
});

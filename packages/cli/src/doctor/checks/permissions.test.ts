import type { Pod } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { neededAccess, type AccessNeeds } from "../../manifests/access-rights.ts";
import type { AccessAnswer } from "../access-review.ts";
import { judgeAccesses, questionsOfNode } from "./permissions.ts";

const kubeletApi = { tokenReviews: true, subjectAccessReviews: true, publishedClientCa: true, servingCertificate: true };
const needs: AccessNeeds = { nodes: [{ name: "vk", onShutdown: "delete" }], readsClusterId: true, kubeletApi };
const needed = neededAccess(needs);

const pod: Pod = {
  metadata: { namespace: "shop", name: "web" },
  spec: {
    serviceAccountName: "robot",
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "disk" } }],
    containers: [
      {
        name: "main",
        envFrom: [{ configMapRef: { name: "settings" } }],
        env: [{ name: "A", valueFrom: { secretKeyRef: { name: "db", key: "k" } } }],
      },
    ],
  },
};

const questions = async (pods: readonly Pod[]) => {
  const asked = await questionsOfNode(needed, "vk", () => Promise.resolve(pods));
  const lines = asked.questions.map(({ verb, resource, subresource, namespace, name, fieldSelector }) =>
    [verb, [resource, subresource].filter(Boolean).join("/"), namespace, name, fieldSelector?.value].filter(Boolean).join(" "),
  );
  return { lines, unasked: asked.unasked };
};

test("a node's user is asked about pods with a selector, and about the objects that its pods name", async () => {
  const { lines, unasked } = await questions([pod]);

  expect(lines).toEqual(
    expect.arrayContaining([
      "list pods vk",
      "watch pods vk",
      "get pods shop web",
      "get secrets shop db",
      "watch configmaps shop settings",
      "get persistentvolumeclaims shop disk",
      "create serviceaccounts/token shop robot",
      "get nodes vk",
      "delete nodes vk",
      "get leases kube-node-lease vk",
      "get configmaps kube-system extension-apiserver-authentication",
    ]),
  );
  expect(lines).not.toContain("list secrets");
  expect(unasked).toMatchObject([
    { status: "skip", check: "permissions.by-object", message: expect.stringContaining("persistentvolumes: ") },
  ]);
});

test("without pods, objects of pods are not asked about, and that is said", async () => {
  const { lines, unasked } = await questions([]);

  expect(lines.filter((line) => /secrets|claims|token$/.test(line))).toEqual([]);
  expect(unasked[0]?.message).toMatch(/^secrets, configmaps, persistentvolumeclaims, persistentvolumes, serviceaccounts\/token: /);
});

test("a resource is one finding, which names the verbs that are denied and the reason", () => {
  const answers: AccessAnswer[] = ["get", "list", "watch"].map((verb) => ({
    question: { verb, group: "", resource: "secrets" },
    outcome: verb === "get" ? "allowed" : "denied",
    reason: verb === "get" ? "" : "no role",
  }));

  expect(judgeAccesses(answers, "me", ({ verb }) => [`grant ${verb}`])).toEqual([
    { status: "fail", check: "permissions.secrets", message: "me may not list, watch secrets (no role)", repair: ["grant list"] },
  ]);
});

test("a review that fails is not a denial", () => {
  const answers: AccessAnswer[] = [{ question: { verb: "get", group: "", resource: "pods" }, outcome: "unknown", reason: "503" }];

  expect(judgeAccesses(answers, "me", () => [])).toMatchObject([{ status: "skip", message: expect.stringContaining("503") }]);
});

test("every access of the printed role is asked about", () => {
  expect(needed.filter(({ resource, subresource }) => resource === "nodes" && subresource === undefined).map(({ verb }) => verb)).toEqual([
    "create",
    "get",
    "list",
    "watch",
    "patch",
    "delete",
  ]);
  expect(neededAccess(needs, ["a"]).filter(({ resource }) => resource === "secrets")).toEqual([
    { verb: "get", group: "", resource: "secrets", subresource: undefined, namespace: "a", name: undefined },
    { verb: "list", group: "", resource: "secrets", subresource: undefined, namespace: "a", name: undefined },
    { verb: "watch", group: "", resource: "secrets", subresource: undefined, namespace: "a", name: undefined },
  ]);
});

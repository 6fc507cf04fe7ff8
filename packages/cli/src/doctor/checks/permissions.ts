import type { Pod } from "@virtual-kubelet/kube-client";
import { neededAccess, serviceAccountName, type NeededAccess } from "../../manifests/access-rights.ts";
import { namespacesOf } from "../../manifests/namespaces.ts";
import { accessNeeds } from "../../manifests/render-manifests.ts";
import type { ProgramCheck } from "../check.ts";
import type { AccessAnswer, AccessQuestion } from "../access-review.ts";
import { askAccesses } from "../ask-accesses.ts";
import { createNodeFacts } from "../facts.ts";
import { nodeUserPrefix } from "../identity.ts";
import { fail, pass, skip, type Judgement } from "../finding.ts";
import { ownCommand } from "../shell-words.ts";
import { objectsOfPods } from "../objects-of-pods.ts";

/** Whether the API server allows the program each access that it needs, one finding for each resource. */
export const permissionsCheck: ProgramCheck = {
  name: "permissions",
  async run(facts, signal) {
    const loaded = await facts.loaded.needed();
    await facts.accepted.needed();
    const { username } = await facts.identity.needed();
    const { client } = await facts.connection.needed();
    const nodes = loaded.settings.nodes.map((_, index) => createNodeFacts(facts, loaded, index, signal));
    const setups = await Promise.all(nodes.map(async ({ planned }) => (await planned.own().catch(() => undefined))?.setup));
    const needs = accessNeeds(loaded.settings, setups);
    const isNode = username.startsWith(nodeUserPrefix);
    const namespaces = namespacesOf(facts.line);
    const asked = isNode
      ? await questionsOfNode(neededAccess(needs), username.slice(nodeUserPrefix.length), () => nodes[0]?.pods.own() ?? Promise.resolve([]))
      : { questions: neededAccess(needs, namespaces), unasked: [] };
    const answers = await askAccesses(asked.questions, { client, clock: facts.context.clock }, signal);
    const repair = isNode
      ? (question: AccessQuestion) => repairOfNode(question, ownCommand(facts.line, "manifests", ["rbac", "--run-as=node"]), username)
      : () => repairOfAccount(ownCommand(facts.line, "manifests", ["rbac", "--run-as=service-account"]), nodes[0]?.name ?? "", username);
    return [...judgeAccesses(answers, username, repair), ...asked.unasked];
  },
};

/** Resources for which the Node authorizer decides about each object, by the pods that are bound to the node. */
const decidedByObject: ReadonlySet<string> = new Set([
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "persistentvolumes",
  "serviceaccounts/token",
]);

/**
 * The questions for a node's own user. The Node authorizer lets it list pods only with a selector for its node, and read only the objects
 * that its pods name, so the questions are about objects of pods that are there.
 *
 * Source: kubernetes v1.36.3 plugin/pkg/auth/authorizer/node/node_authorizer.go.
 */
export async function questionsOfNode(
  needed: readonly NeededAccess[],
  nodeName: string,
  podsOf: () => Promise<readonly Pod[]>,
): Promise<{ readonly questions: readonly AccessQuestion[]; readonly unasked: readonly Judgement[] }> {
  const isByObject = (access: NeededAccess): boolean => decidedByObject.has(pathOf(access)) && access.name === undefined;
  const isOfOnePod = ({ resource, subresource, verb }: NeededAccess): boolean =>
    resource === "pods" && subresource === undefined && verb === "get";
  const plain = needed
    .filter((access) => !isByObject(access) && !isOfOnePod(access))
    .map((access): AccessQuestion => {
      const isListed = access.resource === "pods" && (access.verb === "list" || access.verb === "watch");
      return isListed ? { ...access, fieldSelector: { key: "spec.nodeName", value: nodeName } } : access;
    });
  const pods = await podsOf().catch(() => []);
  const objects = objectsOfPods(pods);
  const named = needed.filter(isByObject).flatMap((access): AccessQuestion[] => {
    const object = objects.get(pathOf(access));
    return object === undefined ? [] : [{ ...access, ...object }];
  });
  const [pod] = pods;
  const onePod =
    pod === undefined
      ? []
      : needed.filter(isOfOnePod).map((access) => ({ ...access, namespace: pod.metadata?.namespace, name: pod.metadata?.name }));
  const missing = [...decidedByObject].filter(
    (path) => needed.some((access) => isByObject(access) && pathOf(access) === path) && !objects.has(path),
  );
  const unasked =
    missing.length === 0
      ? []
      : [
          {
            ...skip(
              `${missing.join(", ")}: the Node authorizer decides about each object that a pod of the node names, and no pod names one now`,
            ),
            check: "permissions.by-object",
          },
        ];
  return { questions: [...plain, ...onePod, ...named], unasked };
}

/** One finding for each resource. @param repair - commands that grant an access */
export function judgeAccesses(
  answers: readonly AccessAnswer[],
  username: string,
  repair: (question: AccessQuestion) => readonly string[],
): readonly Judgement[] {
  const byResource = Map.groupBy(answers, ({ question }) => pathOf(question));
  return [...byResource].map(([path, group]) => {
    const check = `permissions.${path}`;
    const denied = group.filter(({ outcome }) => outcome !== "allowed");
    const [first] = denied;
    if (first === undefined) return { ...pass(verbsOf(group)), check };
    const unknown = denied.find(({ outcome }) => outcome === "unknown");
    if (unknown !== undefined)
      return { ...skip(`the API server does not tell whether ${username} may ${verbsOf(denied)}: ${unknown.reason}`), check };
    const reasons = [...new Set(denied.map(({ reason }) => reason))].filter((reason) => reason !== "");
    const because = reasons.length === 0 ? "" : ` (${reasons.join("; ")})`;
    return {
      ...fail(`${username} may not ${verbsOf(denied)} ${path}${whereOf(first.question)}${because}`, ...repair(first.question)),
      check,
    };
  });
}

function pathOf({ resource, subresource }: NeededAccess): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function verbsOf(answers: readonly AccessAnswer[]): string {
  return [...new Set(answers.map(({ question }) => question.verb))].join(", ");
}

function whereOf({ namespace, name }: AccessQuestion): string {
  return [name === undefined ? "" : ` ${name}`, namespace === undefined ? "" : ` in namespace ${namespace}`].join("");
}

function repairOfAccount(manifests: string, firstNode: string, username: string): string[] {
  const account = serviceAccountName(firstNode);
  const own = `system:serviceaccount:kube-system:${account}`;
  const note = username === own ? [] : [`# that grants them to ${own}: run the program as it, or bind the same roles to ${username}`];
  return [`${manifests} | kubectl apply -f -`, ...note];
}

/** What the printed rights of a node grant; everything else is the Node authorizer's. */
function repairOfNode({ resource, verb, name }: AccessQuestion, manifests: string, username: string): string[] {
  const isPrinted =
    resource === "namespaces" ||
    name === "extension-apiserver-authentication" ||
    (resource === "nodes" && verb === "delete") ||
    resource === "storageclasses" ||
    (resource.startsWith("persistentvolume") && name === undefined);
  if (isPrinted) return [`${manifests} | kubectl apply -f -`];
  return [
    `# the Node authorizer grants this: start kube-apiserver with --authorization-mode=Node,RBAC, and use credentials of ${username} with the group system:nodes`,
  ];
}

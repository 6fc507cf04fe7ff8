import { Semaphore } from "@virtual-kubelet/async";
import { askAccess, type AccessAnswer, type AccessAuthority, type AccessQuestion } from "./access-review.ts";
import { allows, askRules, type AccessRule } from "./rules-review.ts";

/** Maximum number of simultaneous reviews. */
const maxReviews = 8;

/** Maximum number of objects of which each is asked about without asking about all of them first. */
const maxObjects = 8;

/**
 * Asks the API server whether it would allow each access. The same access to more than 8 objects by name, such as those of a thousand nodes, is
 * asked about for all objects at once. If that is not allowed, the rules of the program's user tell which of them are allowed. Only if the API server
 * does not tell all of the rules, each object is asked about.
 *
 * @returns the answers, those about the same access to different objects one after the other
 */
export async function askAccesses(
  questions: readonly AccessQuestion[],
  authority: AccessAuthority,
  signal: AbortSignal,
): Promise<readonly AccessAnswer[]> {
  const permits = new Semaphore(maxReviews);
  const ask = async (question: AccessQuestion): Promise<AccessAnswer> => {
    using _permit = await permits.acquire(signal);
    return await askAccess(question, authority, signal);
  };
  const asked = new Map<string | undefined, Promise<readonly AccessRule[] | undefined>>();
  const rulesIn = (namespace: string | undefined): Promise<readonly AccessRule[] | undefined> => {
    const rules = asked.get(namespace) ?? askRules(namespace, authority, signal);
    asked.set(namespace, rules);
    return rules;
  };
  const byAccess = Map.groupBy(questions, ({ name: _, ...access }) => JSON.stringify(access));
  const answers = [...byAccess.values()].map(async (group) => {
    const [first] = group;
    if (first === undefined || group.length <= maxObjects) return await Promise.all(group.map(ask));
    const ofAll = await ask({ ...first, name: undefined });
    if (ofAll.outcome === "allowed") return group.map((question) => ({ ...ofAll, question }));
    if (ofAll.outcome === "unknown") {
      // The question may have failed because it names no object, or once only; if the API server does not answer at all, it is not asked for each.
      const ofFirst = await ask(first);
      if (ofFirst.outcome === "unknown") return group.map((question) => ({ ...ofFirst, question }));
    }
    return await askByRules(group, await rulesIn(first.namespace), ask);
  });
  return (await Promise.all(answers)).flat();
}

/** @param rules - `undefined` if not all are known */
async function askByRules(
  questions: readonly AccessQuestion[],
  rules: readonly AccessRule[] | undefined,
  ask: (question: AccessQuestion) => Promise<AccessAnswer>,
): Promise<readonly AccessAnswer[]> {
  if (rules === undefined) return await Promise.all(questions.map(ask));
  const isGranted = (question: AccessQuestion): boolean => rules.some((rule) => allows(rule, question));
  const example = questions.find((question) => !isGranted(question));
  // Only a review gives the reason.
  const denial = example && (await ask(example));
  return await Promise.all(
    questions.map(async (question): Promise<AccessAnswer> => {
      if (isGranted(question)) return { question, outcome: "allowed", reason: "" };
      return denial?.outcome === "denied" ? { ...denial, question } : await ask(question);
    }),
  );
}

import type { LabelSelectorField } from "./pod/pod-fields.ts";

/** Whether a selector selects everything; such a one is refused by those who run pods. */
export function selectsEverything(selector: LabelSelectorField | null): boolean {
  return selector !== null && Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0;
}

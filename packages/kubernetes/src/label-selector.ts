import { InvalidInputError } from "@virtual-kubelet/errdefs";
import { ownValue } from "./own-value.ts";

/** A label selector of the API. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[]
    | undefined;
}

/**
 * Whether a selector selects these labels. None at all selects nothing, an empty one everything.
 * Source: LabelSelectorAsSelector in k8s.io/apimachinery v0.36.3 pkg/apis/meta/v1.
 *
 * @throws InvalidInputError for an operator that is none
 */
export function selectsLabels(selector: LabelSelector | null | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  if (!selector) return false;
  const { matchLabels = {}, matchExpressions = [] } = selector;
  if (!Object.entries(matchLabels).every(([key, value]) => ownValue(labels, key) === value)) return false;
  return matchExpressions.every(({ key, operator, values = [] }) => {
    const value = ownValue(labels, key);
    switch (operator) {
      case "In":
        return value !== undefined && values.includes(value);
      case "NotIn":
        return value === undefined || !values.includes(value);
      case "Exists":
        return value !== undefined;
      case "DoesNotExist":
        return value === undefined;
      default:
        throw new InvalidInputError(`"${operator}" is not a valid label selector operator`);
    }
  });
}

import { providerAvailableCondition } from "../node/node-object.ts";
import type { ConditionCatalogue } from "./condition-info.ts";

/** Conditions that core writes, and a kubelet does not. */
export const coreConditions: ConditionCatalogue = {
  [providerAvailableCondition]: {
    on: "node",
    meaning:
      "Whether the provider's back end answers. It exists with the setting `onProviderDown: condition`, with which the node stays Ready while the back end is away; its taint then keeps new pods away.",
    remedy: "If it is False, the message has the back end's answer. Check its address, credentials and network.",
  },
};

import { UnavailableError } from "@virtual-kubelet/errdefs";

/** Zun has answered about an object of the node's, and the answer cannot be read: nothing new is known of the object. */
export class UnreadableError extends UnavailableError {}

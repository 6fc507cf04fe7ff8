/** Kinds of provider that a project can start from; the first is the default. */
export const kinds = ["process", "remote"] as const;

/** `process` runs pods as processes of this machine; `remote` runs them as jobs of a remote API. */
export type Kind = (typeof kinds)[number];

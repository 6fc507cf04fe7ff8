/** The kinds of provider that a project can begin with; the first is the default. */
export const kinds = ["process", "remote"] as const;

/** `process` runs pods as processes of this machine; `remote` runs them as jobs of an API that is reached over a network. */
export type Kind = (typeof kinds)[number];

/** The npm scope of every published package but the program. `node tools/set-scope.ts @new` changes it everywhere. */
export const scope = "@virtual-kubelet";

/** The npm name of the program, which has no scope so that `npx virtual-kubelet` works. */
export const programName = "virtual-kubelet";

/** The export condition that resolves a workspace package to its sources; it is never published. */
export const sourceCondition = "@virtual-kubelet/source";

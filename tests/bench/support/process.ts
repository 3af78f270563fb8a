/**
 * What a process has used so far, as the kernel counts it.
 *
 * @module
 */

export interface Use {
  /** Seconds of user and system time, of all threads, to a hundredth. */
  readonly cpu: number;
  /** Resident memory in MB. */
  readonly resident: number;
  /** The most that has been resident, in MB. */
  readonly peak: number;
}

export async function useOf(pid: number): Promise<Use> {
  const [stat, status] = await Promise.all([
    Deno.readTextFile(`/proc/${pid}/stat`),
    Deno.readTextFile(`/proc/${pid}/status`),
  ]);
  const fields = stat.slice(stat.lastIndexOf(") ") + 2).split(" ");
  const megabytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1000;
  return {
    cpu: (Number(fields[11]) + Number(fields[12])) / 100,
    resident: megabytes("VmRSS"),
    peak: megabytes("VmHWM"),
  };
}

/**
 * For how many milliseconds the main thread of a process has been ready to run while no core was free for it.
 * Source: Documentation/scheduler/sched-stats.rst of Linux, "/proc/<pid>/schedstat".
 */
export function kept(pid: number): number {
  const [, waited] = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/schedstat`).split(" ");
  return Number(waited) / 1e6;
}

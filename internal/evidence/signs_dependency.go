package evidence

import "culprit/internal/session"

// dependencySigns are the words of package managers that cannot resolve or find
// what is asked for.
var dependencySigns = []sign{
	// npm, yarn, pnpm
	{"npm ", "code ERESOLVE", session.KindDependency, secondary},
	{"npm ", "code E404", session.KindDependency, secondary},
	{"npm ", "code ETARGET", session.KindDependency, secondary},
	{"npm ", "code EUSAGE", session.KindDependency, secondary},
	{"npm ", "code EBADENGINE", session.KindDependency, secondary},
	{"npm ", "code ENOLOCK", session.KindDependency, secondary},
	{"npm ", "Missing script: ", session.KindDependency, secondary},
	{"npm ", "missing script: ", session.KindDependency, secondary},
	{"npm ", "canceled due to missing packages", session.KindDependency, secondary},
	{"error Couldn't find package ", "", session.KindDependency, secondary},
	{"error Couldn't find any versions for ", "", session.KindDependency, secondary},
	{"error Your lockfile needs to be updated", "", session.KindDependency, secondary},
	{"error Package \"", "refers to a non-existing file", session.KindDependency, secondary},
	{"➤ YN0028: ", "", session.KindDependency, secondary},
	{"➤ YN0035: ", "", session.KindDependency, secondary},
	{"➤ YN0082: ", "", session.KindDependency, secondary},
	{"ERR_PNPM_", "", session.KindDependency, secondary},
	// pip, Poetry, uv
	{"ERROR: No matching distribution found for ", "", session.KindDependency, secondary},
	{"ERROR: Could not find a version that satisfies ", "", session.KindDependency, secondary},
	{"Could not find a version that satisfies the requirement ", "", session.KindDependency, secondary},
	{"No matching distribution found for ", "", session.KindDependency, secondary},
	{"ERROR: Cannot install ", "", session.KindDependency, secondary},
	{"ERROR: ResolutionImpossible", "", session.KindDependency, secondary},
	{"ERROR: Could not open requirements file", "", session.KindDependency, secondary},
	{"ERROR: Could not build wheels for ", "", session.KindDependency, secondary},
	{"ERROR: Failed building wheel for ", "", session.KindDependency, secondary},
	{"Because ", "version solving failed", session.KindDependency, secondary},
	{"× No solution found when resolving dependencies", "", session.KindDependency, secondary},
	// Bundler, Composer, NuGet, apt, Swift
	{"Could not find gem '", "", session.KindDependency, secondary},
	{"Bundler could not find compatible versions for gem", "", session.KindDependency, secondary},
	{"Your bundle only supports platforms", "", session.KindDependency, secondary},
	{"Your requirements could not be resolved to an installable set of packages", "", session.KindDependency, secondary},
	{"", "error NU1101: ", session.KindDependency, secondary},
	{"", "error NU1102: ", session.KindDependency, secondary},
	{"", "error NU1605: ", session.KindDependency, secondary},
	{"E: Unable to locate package ", "", session.KindDependency, secondary},
	{"E: Package '", "has no installation candidate", session.KindDependency, secondary},
	{"error: Dependencies could not be resolved because ", "", session.KindDependency, secondary},
}

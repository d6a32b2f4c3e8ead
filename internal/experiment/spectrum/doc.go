// Package spectrum ranks lines by how suspicious their coverage makes them:
// covered by the tests that fail, and not by those that pass. It is the
// coefficient of Ochiai, which R. Abreu, P. Zoeteweij and A. J. C. van Gemund
// found to locate faults best in "An Evaluation of Similarity Coefficients for
// Software Fault Localization", PRDC 2006.
//
// A rank is a hint where to read. It is never proof: a line can be covered by
// failing tests alone and do nothing wrong, and a wrong line that all tests
// cover does not stand out. Nothing in the product takes it for more.
package spectrum

// Package rig is what tests of several of these packages use.
package rig
